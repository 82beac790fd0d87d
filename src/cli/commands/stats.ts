/**
 * `reprise stats`.
 *
 * @module
 */

import type { Overview } from '../../admin/admin.ts'
import { COUNT_MAX } from '../../admin/admin.ts'
import { withSums } from '../../telemetry/tally.ts'
import type { Command } from '../command.ts'
import { withEngine } from '../engine.ts'
import { usage } from '../errors.ts'
import { DATABASE_FLAGS } from '../flag-sets.ts'
import { pause } from '../io.ts'
import { pairs, printable, table } from '../output.ts'
import { duration, instant } from '../words.ts'

const WINDOW_MS_MAX = 31 * 86_400_000
/** How often the view is drawn anew, in milliseconds. */
const WATCH_MS = 2000

/** `reprise stats`. */
export const stats: Command = {
  ...{ name: 'stats', summary: 'Show counts, hit rate and what needs a look', isLong: true },
  details: ['Counts are those that keepStats() of reprise/telemetry brings to the store.'],
  flags: [
    {
      ...{ name: 'window', type: 'duration', value: '<time>', default: '24h' },
      ...{ summary: 'How far back, up to 31d', env: ['REPRISE_WINDOW'] },
    },
    { name: 'watch', short: 'w', type: 'switch', summary: 'Draw it anew every 2 s, until Ctrl-C' },
    ...DATABASE_FLAGS,
  ],
  examples: [
    ['npx reprise stats', 'The last day'],
    ['npx reprise stats --window 1h --watch', 'The last hour, live'],
  ],
  run: (context) =>
    withEngine(context, async ({ admin }) => {
      const windowMs = context.flags.ms('window') ?? 0
      if (windowMs < 1 || windowMs > WINDOW_MS_MAX) throw usage('--window: from 1ms to 31d.')
      if (!context.flags.isOn('watch') || context.out.isJson) {
        const overview = await admin.overview({ windowMs })
        return { document: overview, text: overviewText(overview) }
      }
      do {
        context.out.screen(overviewText(await admin.overview({ windowMs })))
      } while (await pause(context.io, WATCH_MS))
      return undefined
    }),
}

const NOT_RECORDED = 'not recorded'
const COUNTED_BY =
  'Counts are recorded where the app brings them to the store: createReprise({ store, onEvent: keepStats(store).onEvent }), with keepStats of reprise/telemetry. See node_modules/reprise/docs/guides/monitoring.md.'

function overviewText(overview: Overview): string {
  const { totals, hitRate, states, workers, concerns, byOperation, windowMs, now } = overview
  const rate = hitRate.rate === null ? '-' : `${(hitRate.rate * 100).toFixed(1)} %`
  // Zeros would be a lie where nobody counts.
  const isCounted = overview.recorded.counts || Object.values(states).every((one) => one === 0)
  const sum = (value: number) => (isCounted ? value.toLocaleString('en-US') : NOT_RECORDED)
  const count = (value: number) =>
    value >= COUNT_MAX ? `${COUNT_MAX.toLocaleString('en-US')}+` : value.toLocaleString('en-US')
  const numbers = pairs([
    ['window', `${duration(windowMs)} up to ${instant(now)}`],
    ['checked', sum(totals.checked)],
    ['duplicates prevented', sum(totals.duplicatesPrevented)],
    [
      'hit rate',
      isCounted ? `${rate}  ${hitRate.label} (${hitRate.range}). ${hitRate.meaning}` : NOT_RECORDED,
    ],
    ['in progress', sum(totals.in_progress)],
    ['mismatch', sum(totals.mismatch)],
    ['resumed', sum(totals.resumed)],
    ['store errors', sum(totals.store_errors)],
  ])
  const stateRow = Object.entries(states).map(([state, value]) => `${state} ${count(value)}`)
  const seen = byOperation.filter(({ counts }) => withSums(counts).checked > 0)
  const operations = seen.map(({ of, counts }) => [
    ...[printable(String(of)), counts.miss, counts.hit, counts.in_progress, counts.mismatch].map(
      String,
    ),
  ])
  const nodes = workers.map(({ worker, nodes: own, isPaused, isSilent, backlog }) => [
    ...[
      worker,
      isPaused ? 'paused' : own.length === 0 ? 'not run' : isSilent ? 'silent' : 'running',
      String(own.length),
      count(backlog),
    ],
  ])
  return [
    ...[numbers, ...(isCounted ? [] : ['', COUNTED_BY]), '', `requests: ${stateRow.join(', ')}`],
    ...(operations.length === 0
      ? []
      : ['', table(['ROUTE', 'MISS', 'HIT', 'IN PROGRESS', 'MISMATCH'], operations)]),
    ...(nodes.length === 0 ? [] : ['', table(['WORKER', 'STATE', 'NODES', 'BACKLOG'], nodes)]),
    ...[
      '',
      ...(concerns.length === 0
        ? ['Nothing needs a look.']
        : concerns.map(({ text }) => `look: ${printable(text)}`)),
    ],
  ].join('\n')
}
