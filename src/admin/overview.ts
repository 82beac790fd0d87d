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
import type {
  Concern,
  CountPoint,
  Overview,
  Recorded,
  StateCounts,
  WorkerSummary,
} from './admin.ts'
import { personAtOf } from './explain.ts'
import { counted, soon } from './texts.ts'
import { workersOf } from './workers.ts'

/** What an overview is made from. */
export interface OverviewParts {
  readonly desk: Desk
  readonly view: DeskView
  readonly clock: Pick<Clock, 'unix'>
  /** How many there are of each state. */
  readonly states: () => Promise<StateCounts>
  /** How long what has an unknown outcome is left to the clients, in milliseconds. */
  readonly unknownGraceMs: number
}

/** How many sums of operations and callers are shown. */
const SUMS_MAX = 50
const HOURS_MAX = 24 * 31

/** Everything on the first page. */
export async function overviewOf(parts: OverviewParts, windowMs: number): Promise<Overview> {
  const { desk, clock } = parts
  // Two at a time, because the states take as long as all the rest; more would take the app's own.
  const [states, { series, byOperation, byCaller, workers, trouble, recorded }] = await Promise.all(
    [parts.states(), restOf(parts, windowMs)],
  )
  const totals = total(series)
  const unknown = await unknownOf(parts, states)
  const { checked, duplicates_prevented: duplicatesPrevented } = withSums(totals)
  return {
    ...{ now: clock.unix(), windowMs, series, byOperation, byCaller, states, workers, recorded },
    totals: { ...totals, checked, duplicatesPrevented },
    hitRate: hitRate({ hit: totals.hit, checked }),
    concerns: concernsOf({
      trouble,
      totals,
      states,
      workers,
      unknown,
      hasWorkers: desk.hasCompleter,
    }),
  }
}

/** What is on the first page besides the states. */
async function restOf({ desk, view }: OverviewParts, windowMs: number) {
  return {
    series: await sums(desk, view, { windowMs, by: 'hour', limit: HOURS_MAX }),
    byOperation: await sums(desk, view, { windowMs, by: 'operation', limit: SUMS_MAX }),
    byCaller: await named(
      desk,
      view,
      await sums(desk, view, { windowMs, by: 'caller', limit: SUMS_MAX }),
    ),
    recorded: await recordedIn(desk, view),
    workers: await workersOf(desk),
    trouble: (await desk.schemaTrouble?.()) ?? null,
  }
}

/** How many of the latest requests are asked for the names of their callers. */
const NAMED_MAX = 200

/** Gives digests of callers their names back, as far as the latest requests tell them. */
async function named(
  desk: Desk,
  view: DeskView,
  points: readonly CountPoint[],
): Promise<readonly CountPoint[]> {
  if (points.length === 0) return points
  const { items } = await desk.list(view, {}, { limit: NAMED_MAX, after: null })
  const names = new Map(items.map(({ caller }) => [callerDigest(caller), caller]))
  return points.map((point) => {
    const caller = names.get(String(point.of))
    return caller === undefined ? point : { ...point, caller }
  })
}

const RECORDED_MS = HOURS_MAX * 3_600_000

/** What the app has ever brought to the store beside its requests. */
export async function recordedIn(desk: Desk, view: DeskView): Promise<Recorded> {
  const counts = await desk.counts.read({ windowMs: RECORDED_MS, by: 'hour', limit: 1 })
  const notes = await desk.notes(view, { limit: 1, after: null, results: null })
  return { counts: counts.length > 0, duplicates: notes.items.length > 0 }
}

/** How many requests of unknown outcome are looked at. */
const UNKNOWN_MAX = 200

/** What stopped runs have left with an unknown outcome, and does not stand before a person yet. */
async function unknownOf(
  { desk, view, unknownGraceMs }: OverviewParts,
  states: StateCounts,
): Promise<Unknown> {
  // Costs nothing where nothing is left.
  if (states.unfinished + states.stuck === 0) return { count: 0, inMs: null }
  const filter = { states: ['unfinished', 'stuck'] as const, hasPoint: false }
  const { items } = await desk.list(view, filter, { limit: UNKNOWN_MAX, after: null })
  const waits = items.map((row) => (personAtOf(row, unknownGraceMs) ?? row.now) - row.now)
  return { count: items.length, inMs: waits.length === 0 ? null : Math.min(...waits) }
}

interface Unknown {
  /** Counted up to {@link UNKNOWN_MAX}. */
  readonly count: number
  /** How soon the first comes before a person. */
  readonly inMs: number | null
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
  readonly unknown: Unknown
}

/** What needs a look, worst first. */
function concernsOf({
  trouble,
  totals,
  states,
  workers,
  hasWorkers,
  unknown,
}: Facts): readonly Concern[] {
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
      ...{ kind: 'outcome_unknown', count: unknown.count },
      text: unknownText(unknown, { hasWorkers, workers }),
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

function unknownText(
  { count, inMs }: Unknown,
  { hasWorkers, workers }: Pick<Facts, 'hasWorkers' | 'workers'>,
): string {
  const most = count === UNKNOWN_MAX ? 'or more ' : ''
  const what = `${counted(count, 'request has', `${most}requests have`)} an unknown outcome, after a run that stopped.`
  if (!hasWorkers || inMs === null) return what
  const completer = workers.find(({ worker }) => worker === 'completer')
  if (completer?.isSilent !== false) {
    return `${what} No completer is running that would put it before a person.`
  }
  const when = inMs <= 0 ? 'at its next run' : `in ${soon(inMs)}`
  return `${what} The completer puts ${count === 1 ? 'it' : 'the first'} before a person ${when}.`
}
