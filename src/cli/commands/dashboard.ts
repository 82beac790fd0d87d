/**
 * `reprise dashboard`.
 *
 * @module
 */

import type { Command } from '../command.ts'
import { openEngine } from '../engine.ts'
import {
  DASHBOARD_FLAGS,
  DATABASE_FLAGS,
  ORDER_FLAGS,
  portFlag,
  SERVER_FLAGS,
} from '../flag-sets.ts'
import { listen } from '../http/listen.ts'
import { aborted } from '../io.ts'
import { Web } from '../operator/web.ts'

/** `reprise dashboard`. */
export const dashboard: Command = {
  ...{ name: 'dashboard', summary: 'Serve the dashboard on this machine', isLong: true },
  details: [
    'Opens also while the store is down: the page says what is wrong and goes on by itself.',
  ],
  flags: [
    ...[portFlag(4410), ...SERVER_FLAGS, ...DASHBOARD_FLAGS],
    ...ORDER_FLAGS.filter(({ name }) => name === 'author'),
    ...DATABASE_FLAGS,
  ],
  examples: [
    ['npx reprise dashboard', 'On http://127.0.0.1:4410, for this machine only'],
    ['npx reprise dashboard --read-only --open', 'Look, do not touch'],
  ],
  async run(context) {
    const { io, out, flags } = context
    const web = new Web(context, () => openEngine(context))
    const { url, close } = await listen(context, web.listener)
    try {
      out.result({ document: { url }, text: `dashboard  ${url}` })
      if (flags.isOn('open')) io.open(url)
      await web.connect()
      await aborted(io.interrupted)
    } finally {
      await close()
      await web.close()
    }
    return undefined
  },
}
