/**
 * Results as text: tables in the form of Markdown, for the terminal and for the docs.
 *
 * @module
 */

import { judge } from './goals.ts'
import { growthTables } from './growth-charts.ts'
import { tableOf } from './markdown.ts'
import type { Comparison } from './measure.ts'
import { memoryTable } from './memory.ts'
import { reapingTable } from './reaping.ts'
import type { Results } from './results.ts'

/** The tables of a run: of what it measured. */
export function tablesOf(results: Results): string {
  const { settings, growth, reaping, memory } = results
  const found = [
    ...(settings.mode === 'variants' ? [comparisonsOf(results), othersOf(results)] : []),
    ...roomyOf(results),
    ...(growth === undefined ? [] : [growthTables(growth)]),
    ...(reaping === undefined ? [] : [reapingTable(reaping)]),
    ...(memory === undefined ? [] : [memoryTable(memory)]),
  ]
  return [...found, goalsOf(results)].join('\n\n')
}

function comparisonsOf({ comparisons, counts }: Results): string {
  const rows = comparisons.map((one) => {
    const { variant, workload, failures } = one
    const cost = counts.find((count) => count.variant === variant && count.workload === workload)
    return [
      ...[variant, workload, ...timesOf(one)],
      ...[plain(cost?.postgresRoundTrips), plain(cost?.fsyncs)],
      ...[plain(cost?.walBytes, 0), plain(cost?.redisCommands), String(failures)],
    ]
  })
  const counted = ['PG trips', 'fsyncs', 'WAL bytes', 'Redis cmds', 'failed']
  return tableOf(['variant', 'keys', ...TIMES, ...counted], rows)
}

/** With a larger young generation, if that was measured. */
function roomyOf({ roomy = [] }: Results): string[] {
  if (roomy.length === 0) return []
  const rows = roomy.map((one) => [one.variant, ...timesOf(one), String(one.failures)])
  return [tableOf(['with a larger young generation', ...TIMES, 'failed'], rows)]
}

/** The columns of {@link timesOf}. */
const TIMES = [
  ...['conn.', '× beside', 'range', 'req/s', 'p50 ms', 'p99 ms'],
  'CPU µs (beside)',
] as const

function timesOf({ connections, ratio, ratios, own, other }: Comparison): string[] {
  return [
    ...[String(connections), ratio.toFixed(2)],
    `${ratios[0].toFixed(2)}–${ratios[1].toFixed(2)}`,
    ...[own.perSecond.toFixed(0), own.p50Ms.toFixed(1), own.p99Ms.toFixed(1)],
    `${own.cpuUs.toFixed(0)} (${other.cpuUs.toFixed(0)})`,
  ]
}

function othersOf({ hotKeys, sizes, imports }: Results): string {
  const rows = [
    ...hotKeys.map(({ variant, duplicates, executions, failures, handlerMs, allMs, ...one }) => [
      `${variant}: ${duplicates} duplicates at once, 2 processes`,
      `${executions} execution, ${failures} failed, all answered after ${allMs.toFixed(0)} ms (handler ${handlerMs} ms), ` +
        `store calls ${one.storeCalls.join(' and ')} (one request: ${one.loneCalls}), ` +
        `p99 of others × ${one.othersP99Ratio.toFixed(2)} (without protection × ${plain(one.controlP99Ratio, 2)})`,
    ]),
    ...imports.map(({ subpath, ms, cpuMs }) => [
      `import ${subpath}`,
      `${ms.toFixed(1)} ms, CPU ${cpuMs.toFixed(1)} ms`,
    ]),
  ]
  if (sizes !== undefined) {
    const { postgresBytes, postgresRows, redisBytes, redisPackedBytes } = sizes
    rows.push([`PostgreSQL, ${postgresRows} records`, `${postgresBytes.toFixed(0)} bytes each`])
    if (redisBytes !== null) rows.push(['Redis', `${redisBytes.toFixed(0)} bytes a record`])
    if (redisPackedBytes !== null) {
      rows.push(['Redis, answers compressed', `${redisPackedBytes.toFixed(0)} bytes a record`])
    }
  }
  return tableOf(['what', 'measured'], rows)
}

function goalsOf(results: Results): string {
  const rows = judge(results)
    .filter(({ verdict }) => results.settings.mode === 'variants' || verdict !== 'not measured')
    .map(({ id, what, goal, measured, verdict }) => [id, what, goal, measured, verdict])
  return tableOf(['goal', 'what', 'bound', 'measured', 'verdict'], rows)
}

function plain(value: number | null | undefined, digits = 1): string {
  return value == null ? '–' : String(Number(value.toFixed(digits)))
}
