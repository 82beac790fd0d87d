/**
 * The first page.
 *
 * @module
 */

import { callerDigest } from '../core/identity.ts'
import type { Clock } from '../engine/clock.ts'
import { COUNT_NAMES, type CountQuery, type Counts, noCounts } from '../engine/counts.ts'
import type { Desk, DeskView } from '../engine/desk.ts'
import { hitRate } from '../telemetry/hit-rate.ts'
import { withSums } from '../telemetry/tally.ts'
import type { Concern, CountPoint, Overview, StateCounts, WorkerSummary } from './admin.ts'
import { counted } from './texts.ts'
import { workersOf } from './workers.ts'

/** What an overview is made from. */
export interface OverviewParts {
  readonly desk: Desk
  readonly view: DeskView
  readonly clock: Pick<Clock, 'unix'>
  /** How many there are of each state. */
  readonly states: () => Promise<StateCounts>
}

/** How many sums of operations and callers are shown. */
const SUMS_MAX = 50
const HOURS_MAX = 24 * 31

/** Everything on the first page. */
export async function overviewOf(parts: OverviewParts, windowMs: number): Promise<Overview> {
  const { desk, clock } = parts
  // Two at a time, because the states take as long as all the rest; more would take the app's own.
  const [states, { series, byOperation, byCaller, workers, trouble }] = await Promise.all([
    parts.states(),
    restOf(parts, windowMs),
  ])
  const totals = total(series)
  const { checked, duplicates_prevented: duplicatesPrevented } = withSums(totals)
  return {
    ...{ now: clock.unix(), windowMs, series, byOperation, byCaller, states, workers },
    totals: { ...totals, checked, duplicatesPrevented },
    hitRate: hitRate({ hit: totals.hit, checked }),
    concerns: concernsOf({ trouble, totals, states, workers, hasWorkers: desk.hasCompleter }),
  }
}

/** What is on the first page besides the states. */
async function restOf({ desk, view }: OverviewParts, windowMs: number) {
  return {
    series: await sums(desk, view, { windowMs, by: 'hour', limit: HOURS_MAX }),
    byOperation: await sums(desk, view, { windowMs, by: 'operation', limit: SUMS_MAX }),
    byCaller: await sums(desk, view, { windowMs, by: 'caller', limit: SUMS_MAX }),
    workers: await workersOf(desk),
    trouble: (await desk.schemaTrouble?.()) ?? null,
  }
}

/** Sums of those callers that may be seen. */
async function sums(desk: Desk, { callers }: DeskView, query: CountQuery): Promise<CountPoint[]> {
  const queries = callers?.map((caller) => ({ ...query, caller: callerDigest(caller) })) ?? [query]
  const points = new Map<number | string, CountPoint>()
  for (const one of queries) {
    for (const { hour, operation, caller, counts } of await desk.counts.read(one)) {
      const of = hour ?? operation ?? caller ?? ''
      const before = points.get(of)?.counts ?? noCounts()
      points.set(of, { of, counts: added(before, counts) })
    }
  }
  const all = [...points.values()]
  // The store gives the newest hours first; a chart goes from left to right.
  return query.by === 'hour' ? all.sort((a, b) => Number(a.of) - Number(b.of)) : all
}

function total(points: readonly CountPoint[]): Counts {
  return points.reduce<Counts>((all, { counts }) => added(all, counts), noCounts())
}

function added(a: Counts, b: Counts): Counts {
  const all = noCounts()
  for (const name of COUNT_NAMES) all[name] = a[name] + b[name]
  return all
}

/** Fewer jobs that wait are no concern. */
const BACKLOG_MIN = 1000

interface Facts {
  /** What is wrong with the schema. */
  readonly trouble: string | null
  readonly totals: Counts
  readonly states: StateCounts
  readonly workers: readonly WorkerSummary[]
  readonly hasWorkers: boolean
}

/** What needs a look, worst first. */
function concernsOf({ trouble, totals, states, workers, hasWorkers }: Facts): readonly Concern[] {
  const silent = workers.filter(({ isSilent, nodes, backlog }) => {
    return hasWorkers && isSilent && (nodes.length > 0 || backlog > 0)
  })
  const jobs = workers.find(({ worker }) => worker === 'enqueuer')?.backlog ?? 0
  const concerns: Concern[] = [
    { kind: 'schema', count: trouble === null ? 0 : 1, text: trouble ?? '' },
    {
      ...{ kind: 'dead_letters', count: states.needs_person },
      text: `${counted(states.needs_person, 'request needs', 'requests need')} a person.`,
    },
    {
      ...{ kind: 'stuck', count: states.stuck },
      text: `${counted(states.stuck, 'request is', 'requests are')} stuck.`,
    },
    ...silent.map(({ worker, isPaused }): Concern => {
      const why = isPaused ? ' It is paused.' : ''
      return { kind: 'worker_silent', count: 1, text: `No ${worker} is running.${why}` }
    }),
    {
      ...{ kind: 'backlog', count: jobs >= BACKLOG_MIN ? jobs : 0 },
      text: `${counted(jobs, 'staged job waits', 'staged jobs wait')} for the enqueuer.`,
    },
    {
      ...{ kind: 'store_errors', count: totals.store_errors },
      text: `The store failed ${counted(totals.store_errors, 'time', 'times')}.`,
    },
  ]
  return concerns.filter(({ count }) => count > 0)
}
