/**
 * `reprise dev`: a sample API, workers and the dashboard, with nothing but Node.
 *
 * @module
 */

import type { Command, Context } from '../command.ts'
import { Playground } from '../dev/playground.ts'
import {
  DASHBOARD_FLAGS,
  DATABASE_FLAGS,
  ORDER_FLAGS,
  portFlag,
  SERVER_FLAGS,
} from '../flag-sets.ts'
import { aborted } from '../io.ts'
import { pairs } from '../output.ts'
import { canAsk } from '../prompt.ts'

/** `reprise dev`. */
export const dev: Command = {
  ...{ name: 'dev', summary: 'Start a sample API, workers and the dashboard', isLong: true },
  details: [
    'Keeps records in memory, or in DATABASE_URL if that is set. The sample API runs in a process of its own, so that it can be killed. Your own app is not touched unless you name it with --app.',
  ],
  flags: [
    ...[portFlag(4400), ...SERVER_FLAGS, ...DASHBOARD_FLAGS],
    {
      ...{ name: 'app', type: 'text', value: '<url>', env: ['REPRISE_APP'], config: 'app' },
      summary: 'Send to this route of your app instead of the sample',
    },
    ...ORDER_FLAGS.filter(({ name }) => name === 'author'),
    ...DATABASE_FLAGS,
  ],
  examples: [
    ['npx reprise dev', 'Everything, in memory'],
    ['DATABASE_URL=postgres://localhost/app npx reprise dev', 'Records in PostgreSQL'],
  ],
  async run(context) {
    const playground = new Playground(context)
    try {
      await playground.start()
      const { api, dashboard, store } = playground
      const curl = curlOf(api)
      context.out.result({
        document: { api, dashboard, store, curl },
        text: [
          pairs([
            ['sample API', api],
            ['dashboard', dashboard],
            ['store', store],
          ]),
          ...['', 'Send this twice; the second answer has Idempotent-Replayed: true', ''],
          ...[`  ${curl}`, `  ${curl}`, ''],
          canAsk(context) ? HOTKEYS : 'Ctrl-C ends it.',
        ].join('\n'),
      })
      await untilQuit(context, playground)
    } finally {
      await playground.stop()
    }
    return undefined
  },
}

const HOTKEYS =
  'Keys: o open dashboard, s send, d send the same again, k kill the server, q quit, ? help'

function curlOf(api: string): string {
  return `curl -i ${api} -H 'Idempotency-Key: k-1' -H 'Content-Type: application/json' -d '{"amount":1200}'`
}

async function untilQuit(context: Context, playground: Playground): Promise<void> {
  const { io, out } = context
  if (!canAsk(context)) return Promise.race([aborted(io.interrupted), playground.failed])
  const quit = new AbortController()
  const actions: Readonly<Record<string, () => unknown>> = {
    o: () => io.open(playground.dashboard),
    s: () => playground.send(),
    d: () => playground.duplicate(),
    k: () => playground.kill(),
    q: () => quit.abort(),
    '?': () => out.note(HOTKEYS),
  }
  const stop = io.stdin.keys((key) => void actions[key]?.())
  try {
    await Promise.race([aborted(io.interrupted), aborted(quit.signal), playground.failed])
  } finally {
    stop()
  }
}
