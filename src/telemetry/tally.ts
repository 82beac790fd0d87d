/**
 * What each event adds to which counter. Pure; whoever counts, counts by this.
 *
 * @module
 */

import { causeCodeOf } from '../core/causes.ts'
import { COUNT_NAMES, type CountName, type Counts, noCounts } from '../engine/counts.ts'
import type { RepriseEvent } from '../engine/events.ts'
import type { CounterName } from './catalogue.ts'

/** What a worker did, as `createWorkers` tells it. */
export interface WorkerNote {
  readonly worker: string
  readonly done: number
  readonly buried?: number
  readonly tookMs: number
  readonly error?: unknown
  readonly record?: { readonly id: string; readonly operation: string; readonly ending: string }
}

/** What is added, and how much. */
export type Addition = readonly [name: CountName, count: number]

/**
 * What an event adds. Each outcome is counted as it was answered: a run that lost its lease and was
 * given the winner's answer is a hit.
 */
export function additionsOf(event: RepriseEvent): readonly Addition[] {
  const name = additionOf(event)
  if (name === undefined) return []
  const added: Addition = [name, 1]
  return event.type === 'resumed' ? [added, ['resumed', 1]] : [added]
}

/** What a failure of the store is put down to, where it is counted by its cause. */
export function storeCauseOf({ type, error }: RepriseEvent): string | undefined {
  return type === 'store_error' ? (causeCodeOf(error) ?? 'unknown') : undefined
}

/** What a worker's event adds. */
export function additionsOfWorker(note: WorkerNote): readonly Addition[] {
  const { worker, done, buried = 0, record } = note
  if (record !== undefined) {
    return record.ending === 'resumed' || record.ending === 'executed' ? [['completed', 1]] : []
  }
  const added: Addition[] = buried > 0 ? [['dead_letters', buried]] : []
  if (worker === 'enqueuer' && done > 0) added.push(['enqueued', done])
  if (worker === 'reaper' && done > buried) added.push(['reaped', done - buried])
  return added
}

/** Whether the request came to a decision about a record. */
export function isChecked(event: RepriseEvent): boolean {
  return additionsOf(event).some(([name]) => CHECKED.has(name))
}

/** How many requests were checked. */
function checkedOf({ miss, hit, in_progress, mismatch }: Counts): number {
  return miss + hit + in_progress + mismatch
}

/** Every counter, sums included. */
export function withSums(counts: Counts): Readonly<Record<CounterName, number>> {
  const { hit, in_progress } = counts
  return { ...counts, checked: checkedOf(counts), duplicates_prevented: hit + in_progress }
}

/** The counters that an addition raises, sums included. */
export const RAISED: Readonly<Record<CountName, readonly CounterName[]>> = raised()

function raised(): Readonly<Record<CountName, readonly CounterName[]>> {
  const entries = COUNT_NAMES.map((name) => {
    const sums = withSums({ ...noCounts(), [name]: 1 })
    return [name, Object.entries(sums).flatMap(([counter, sum]) => (sum > 0 ? [counter] : []))]
  })
  // Every name is there, each with names of counters.
  return Object.fromEntries(entries) as Record<CountName, CounterName[]>
}

const CHECKED: ReadonlySet<CountName> = new Set(['miss', 'hit', 'in_progress', 'mismatch'])

/** What each event adds, whatever else it says. */
const ADDED: Readonly<Partial<Record<RepriseEvent['type'], CountName>>> = {
  executed: 'miss',
  resumed: 'miss',
  replayed: 'hit',
  in_progress: 'in_progress',
  mismatch: 'mismatch',
  // An earlier run stands in the way here too; that nobody can say how it ended is for a person.
  unknown: 'in_progress',
  over_quota: 'rejected',
  rejected: 'rejected',
  bypassed: 'bypassed',
  store_error: 'store_errors',
  dead_letter: 'dead_letters',
}

function additionOf({ type, handlerMs, duplicate }: RepriseEvent): CountName | undefined {
  const hasRun = handlerMs !== undefined
  // One that failed before anything ran came to no decision: the store could not be asked.
  if (type === 'failed') return hasRun ? 'miss' : undefined
  // One that waited for a run that was put off has run nothing itself.
  if (type === 'postponed') return hasRun ? 'miss' : 'in_progress'
  // The first to run may itself end so; whoever comes after it is a duplicate.
  if (type === 'unknown' && hasRun && duplicate === undefined) return 'miss'
  return ADDED[type]
}
