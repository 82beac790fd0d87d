/**
 * The goals, and whether a run met them. A goal whose variants were not measured is not judged.
 *
 * @module
 */

import type { Growth, RecordsPoint } from './growth.ts'
import { TYPICAL } from './imports.ts'
import type { Removal } from './reaping.ts'
import type { Results } from './results.ts'
import type { Workload } from './variants.ts'

/** A goal beside what was measured. */
export interface Judged {
  readonly id: string
  readonly what: string
  readonly goal: string
  readonly measured: string
  readonly verdict: 'pass' | 'FAIL' | 'not measured'
}

type Ask = (results: Results) => number | null | undefined

interface Goal {
  readonly id: string
  readonly what: string
  readonly sign: '≥' | '≤' | '='
  readonly bound: number
  readonly unit?: string
  readonly ask: Ask
}

/** Connections at which ratios are judged; the most that were measured, where not these. */
const CONNECTIONS = 64

const GOALS: readonly Goal[] = [
  fresh('P1', 'transaction, Express, × bare', ['express/transaction', 0.88]),
  fresh('P1', 'transaction, Fastify, × bare', ['fastify/transaction', 0.88]),
  counted('P1', 'transaction, round trips', ['postgresRoundTrips', '=', 3]),
  counted('P1', 'transaction, fsyncs', ['fsyncs', '=', 1]),
  counted('P1', 'transaction, WAL bytes', ['walBytes', '≤', 900]),
  fresh('P1b', 'claim with the first statement, × bare', ['express/first-statement', 1.05]),
  {
    ...goal('P1b', 'claim with the first statement, round trips', ['=', 2]),
    ask: roundTripsOf('express/first-statement'),
  },
  fresh('P2', 'lease on Redis, Express, × bare', ['express/lease-redis', 0.93]),
  fresh('P2', 'lease on Redis, Fastify, × bare', ['fastify/lease-redis', 0.93]),
  { ...goal('P2', 'lease on Redis, commands', ['=', 2]), ask: commandsOf('express/lease-redis') },
  fresh('P3', 'lease on PostgreSQL, Express, × bare', ['express/lease-postgres', 0.8]),
  {
    ...goal('P3', 'lease on PostgreSQL, own round trips', ['≤', 2]),
    ask: (results) => minus(roundTripsOf('express/lease-postgres')(results), 3),
  },
  { ...goal('P4', 'phases, round trips', ['≤', 9]), ask: roundTripsOf('express/phases') },
  { ...goal('P4', 'phases, fsyncs', ['≤', 3]), ask: countOf('express/phases', 'fsyncs') },
  {
    ...goal('P4', 'phases, × DBOS on the same steps', ['≥', 3]),
    ask: (results) =>
      over(ratioOf('express/phases')(results), ratioOf('express/dbos-phases')(results)),
  },
  replayed('P5', 'Redis asked, Express, × no-op', ['express/lease-redis-uncached', 1.15]),
  replayed('P5', 'Redis asked, Fastify, × no-op', ['fastify/lease-redis-uncached', 1]),
  replayed('P5', 'PostgreSQL asked, Express, × no-op', ['express/transaction-uncached', 0.9]),
  replayed('P5', 'PostgreSQL asked, Fastify, × no-op', ['fastify/transaction-uncached', 0.5]),
  {
    ...goal('P5', 'PostgreSQL asked, round trips', ['≤', 1]),
    ask: countOf('express/transaction-uncached', 'postgresRoundTrips', 'replay'),
  },
  replayed('P6', 'cache hit, Express, × no-op', ['express/transaction', 1.5]),
  replayed('P6', 'cache hit, Fastify, × no-op', ['fastify/transaction', 1.2]),
  {
    ...goal('P7', '1,000 duplicates, 2 processes: executions', ['=', 1]),
    ask: ({ hotKeys }) => worst(hotKeys.map(({ executions }) => executions)),
  },
  {
    ...goal('P7', 'all answered, × the handler’s time', ['≤', 1.5]),
    ask: ({ hotKeys }) => worst(hotKeys.map(({ allMs, handlerMs }) => allMs / handlerMs)),
  },
  {
    ...goal('P7', 'store calls of a process over those of one request', ['≤', 1]),
    ask: ({ hotKeys }) =>
      worst(hotKeys.map(({ storeCalls, loneCalls }) => Math.max(...storeCalls) - loneCalls)),
  },
  {
    ...goal('P7', 'p99 of other keys meanwhile, × before', ['≤', 1.2]),
    ask: ({ hotKeys }) => worst(hotKeys.map(({ othersP99Ratio }) => othersP99Ratio)),
  },
  ownCpu('P8', 'own CPU, transaction, Express', ['express/transaction', 80]),
  ownCpu('P8', 'own CPU, transaction, Fastify', ['fastify/transaction', 60]),
  ownCpu('P8', 'own CPU, transaction, Hono', ['hono/transaction', 60]),
  {
    ...goal('P9', 'reaping 2 million rows under load, rows/s', ['≥', 20_000]),
    ask: ({ reaping }) => reaping?.removals.find(isByReaper)?.rowsPerSecond,
  },
  {
    ...goal('P9', 'p99 of the traffic meanwhile, × before', ['≤', 1.3]),
    ask: ({ reaping }) => reaping?.removals.find(isByReaper)?.p99Ratio,
  },
  {
    ...goal('P10', 'latency at the most records, × an empty table', ['≤', 1.2]),
    ask: ({ growth }) => worst(largest(growth).map(({ latencyRatio }) => latencyRatio)),
  },
  {
    ...goal('P10', 'bytes per record at the most records', ['≤', 700]),
    ask: ({ growth }) => largest(growth)[0]?.bytesPerRecord,
  },
  {
    ...goal('P10', 'bytes per record in PostgreSQL, with indexes', ['≤', 700]),
    ask: ({ sizes }) => sizes?.postgresBytes,
  },
  {
    ...goal('P11', 'bytes per record in Redis', ['≤', 500]),
    ask: ({ sizes }) => sizes?.redisBytes,
  },
  {
    ...goal('P11', 'the same, answers compressed', ['≤', 500]),
    ask: ({ sizes }) => sizes?.redisPackedBytes,
  },
  {
    ...goal('P12', 'import of the engine, Express and PostgreSQL', ['≤', 40]),
    unit: ' ms',
    ask: ({ imports }) => imports.find(({ subpath }) => subpath === TYPICAL.join(' + '))?.ms,
  },
  {
    ...goal('P12', 'growth of the heap under load, MB a minute', ['≤', 0.05]),
    ask: ({ memory = [] }) => worst(memory.map(({ heapSlope }) => heapSlope)),
  },
  {
    ...goal('P12', 'growth of the process under load, MB a minute', ['≤', 0.1]),
    ask: ({ memory = [] }) => worst(memory.map(({ rssSlope }) => rssSlope)),
  },
]

/** Judges a run. */
export function judge(results: Results): Judged[] {
  return GOALS.map(({ id, what, sign, bound, unit = '', ask }) => {
    const value = ask(results) ?? undefined
    const rounded = value === undefined ? undefined : Number(value.toFixed(2))
    return {
      ...{ id, what, goal: `${sign} ${bound}${unit}` },
      measured: rounded === undefined ? '–' : `${rounded}${unit}`,
      verdict:
        rounded === undefined ? 'not measured' : holds(rounded, sign, bound) ? 'pass' : 'FAIL',
    }
  })
}

function holds(value: number, sign: Goal['sign'], bound: number): boolean {
  if (sign === '≥') return value >= bound
  // Counted over many requests, with a stray one of the machinery now and then.
  return sign === '≤' ? value <= bound : Math.abs(value - bound) < 0.05
}

function goal(id: string, what: string, [sign, bound]: readonly [Goal['sign'], number]) {
  return { id, what, sign, bound }
}

function fresh(id: string, what: string, [variant, bound]: readonly [string, number]): Goal {
  return { ...goal(id, what, ['≥', bound]), ask: ratioOf(variant) }
}

function replayed(id: string, what: string, [variant, bound]: readonly [string, number]): Goal {
  return { ...goal(id, what, ['≥', bound]), ask: ratioOf(variant, 'replay') }
}

function ownCpu(id: string, what: string, [variant, bound]: readonly [string, number]): Goal {
  const ask: Ask = (results) => found(results, variant, 'fresh')?.ownCpuUs
  return { ...goal(id, what, ['≤', bound]), unit: ' µs', ask }
}

type Count = 'postgresRoundTrips' | 'fsyncs' | 'walBytes' | 'redisCommands'

function counted(
  id: string,
  what: string,
  [count, sign, bound]: readonly [Count, Goal['sign'], number],
): Goal {
  return { ...goal(id, what, [sign, bound]), ask: countOf('express/transaction', count) }
}

function countOf(variant: string, count: Count, workload: Workload = 'fresh'): Ask {
  return ({ counts }) =>
    counts.find((one) => one.variant === variant && one.workload === workload)?.[count]
}

function roundTripsOf(variant: string): Ask {
  return countOf(variant, 'postgresRoundTrips')
}

function commandsOf(variant: string): Ask {
  return countOf(variant, 'redisCommands')
}

function ratioOf(variant: string, workload: Workload = 'fresh'): Ask {
  return (results) => found(results, variant, workload)?.ratio
}

function found({ comparisons }: Results, variant: string, workload: Workload) {
  const all = comparisons.filter((one) => one.variant === variant && one.workload === workload)
  return all.find(({ connections }) => connections === CONNECTIONS) ?? all.at(-1)
}

function isByReaper({ how }: Removal): boolean {
  return how === 'reaper'
}

function largest(growth: Growth | undefined): readonly RecordsPoint[] {
  const points = growth?.records ?? []
  const most = Math.max(...points.map(({ records }) => records))
  return points.filter(({ records }) => records === most)
}

type Maybe = number | null | undefined

function minus(value: Maybe, other: number): Maybe {
  return value == null ? value : value - other
}

function over(value: Maybe, other: Maybe): Maybe {
  return value == null || other == null ? undefined : value / other
}

function worst(values: readonly number[]): Maybe {
  return values.length === 0 ? undefined : Math.max(...values)
}
