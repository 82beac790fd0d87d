/**
 * `reprise keys tail`.
 *
 * @module
 */

import type { Command, Context } from '../command.ts'
import { withEngine } from '../engine.ts'
import { CliError } from '../errors.ts'
import { DATABASE_FLAGS } from '../flag-sets.ts'
import { isByHand, pause } from '../io.ts'
import { type Decision, Tail } from '../operator/tail.ts'
import { FILTER_FLAGS, readFilter } from '../operator/targets.ts'
import { printable } from '../output.ts'
import { instant } from '../words.ts'

/** `reprise keys tail`. */
export const keysTail: Command = {
  ...{ name: 'keys tail', summary: 'Show decisions as they are made', isLong: true },
  details: [
    'miss: a first request; hit: a replay; conflict: still in progress; mismatch: another body; resume: taken up again; finished, failed, needs_person: how it ended. Replays and conflicts are seen where the app notes them, see node_modules/reprise/docs/cli.md#output. With --json each line is one document.',
  ],
  flags: [
    ...FILTER_FLAGS,
    {
      name: 'since',
      type: 'duration',
      value: '<time>',
      default: '0s',
      summary: 'Begin this far back',
    },
    { name: 'for', type: 'duration', value: '<time>', summary: 'End after this time; else Ctrl-C' },
    {
      ...{ name: 'every', type: 'duration', value: '<time>', default: '1s' },
      ...{ summary: 'How often to look', env: ['REPRISE_EVERY'] },
    },
    ...DATABASE_FLAGS,
  ],
  examples: [
    ['npx reprise keys tail --route "POST /charges"', 'What becomes of charges'],
    [`npx reprise keys tail --json | jq 'select(.decision == "mismatch")'`, 'For a script'],
  ],
  run: (context) =>
    withEngine(context, async ({ admin }) => {
      const { flags, io, out } = context
      const tail = new Tail(admin, readFilter(context))
      const everyMs = Math.max(100, flags.ms('every') ?? 1000)
      const forMs = flags.ms('for') ?? Number.POSITIVE_INFINITY
      const startedAt = io.clock.now()
      await tail.start(flags.ms('since') ?? 0)
      for (;;) {
        for (const decision of await tail.look()) out.event(decision, lineOf(decision, context))
        const leftMs = forMs - (io.clock.now() - startedAt)
        if (leftMs <= 0) return undefined
        if (!(await pause(io, Math.min(everyMs, leftMs)))) break
      }
      if (isByHand(io)) throw new CliError('REPRISE_E_INTERRUPTED', 'Interrupted.')
      return undefined
    }),
}

function lineOf(
  { at, decision, operation, key, caller, status, id }: Decision,
  { out }: Context,
): string {
  const word = out.paint(decision === 'mismatch' ? 'yellow' : 'cyan', decision.padEnd(12))
  const what = [operation, key ?? id, caller ?? '', status === null ? '' : String(status)]
  return `${instant(at)}  ${word}  ${what.map(printable).join('  ').trimEnd()}`
}
