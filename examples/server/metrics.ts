/**
 * What the engine and its workers tell, counted, as Prometheus reads it.
 *
 * @module
 */

import { type EventListener, isRepriseError, type RepriseEvent } from 'reprise'
import type { WorkerEvent } from 'reprise/workers'

/** What is counted, with what each means. `checked` = `miss` + `hit` + `in_progress` + `mismatch`. */
const COUNTERS = {
  checked: 'Requests with a key that were checked against a record.',
  hit: 'Requests that got the stored answer.',
  miss: 'Requests that were run, or taken up.',
  duplicates_prevented: 'Requests that would have been run twice: hits and those in progress.',
  mismatch: 'Requests whose key was used for another request.',
  in_progress: 'Requests whose first one was still running.',
  resumed: 'Requests that were taken up where an earlier one stopped.',
  rejected: 'Requests without a usable key.',
  store_errors: 'Calls to the store that failed or took too long.',
  reaped: 'Records removed after their retention.',
  completed: 'Records driven on by the completer.',
  enqueued: 'Staged jobs handed over.',
} as const

type Counter = keyof typeof COUNTERS

/** What each worker's count is. */
const WORKERS = { enqueuer: 'enqueued', completer: 'completed', reaper: 'reaped' } as const

/** Upper bounds of the histogram, in seconds. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** What is in the database now. */
export interface Gauges {
  readonly unfinished: number
  readonly dead_letters: number
}

const GAUGES: Readonly<Record<keyof Gauges, string>> = {
  unfinished: 'Records whose request has not been finished.',
  dead_letters: 'Records that only a person can settle.',
}

/** Counts since the process began. */
export class Metrics {
  readonly #counts = new Map<Counter, number>()
  readonly #buckets = BUCKETS.map(() => 0)
  #overheads = 0
  #overheadSeconds = 0

  /** For the engine. */
  readonly onEvent: EventListener = (event) => {
    for (const counter of countersOf(event)) this.#add(counter, 1)
    // Of a request that ran a handler nobody can tell what was the handler's.
    if (OVERHEAD_ONLY.has(event.type)) this.#observe(event.elapsedMs / 1000)
  }

  /** For the workers. */
  readonly onWorkerEvent = ({ worker, done, record }: WorkerEvent): void => {
    // The completer tells of each record, and then of the run that they were in.
    if (worker !== 'completer' || record !== undefined) this.#add(WORKERS[worker], done)
  }

  /** Prometheus' text format. */
  render(gauges: Gauges): string {
    const lines: string[] = []
    const tell = (name: string, type: string, help: string) =>
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`)
    for (const [counter, help] of Object.entries(COUNTERS)) {
      const name = `idempotency_${counter}_total`
      tell(name, 'counter', help)
      // The keys of the table are its counters, but the compiler takes them for any texts.
      lines.push(`${name} ${this.#counts.get(counter as Counter) ?? 0}`)
    }
    tell('idempotency_unfinished', 'gauge', GAUGES.unfinished)
    lines.push(`idempotency_unfinished ${gauges.unfinished}`)
    tell('idempotency_dead_letters', 'gauge', GAUGES.dead_letters)
    lines.push(`idempotency_dead_letters ${gauges.dead_letters}`)
    const overhead = 'idempotency_overhead_seconds'
    tell(overhead, 'histogram', 'Time that requests took which ran no handler.')
    BUCKETS.forEach((bound, index) => {
      lines.push(`${overhead}_bucket{le="${bound}"} ${this.#buckets[index] ?? 0}`)
    })
    lines.push(`${overhead}_bucket{le="+Inf"} ${this.#overheads}`)
    lines.push(`${overhead}_sum ${this.#overheadSeconds}`, `${overhead}_count ${this.#overheads}`)
    return `${lines.join('\n')}\n`
  }

  #add(counter: Counter, count: number): void {
    this.#counts.set(counter, (this.#counts.get(counter) ?? 0) + count)
  }

  #observe(seconds: number): void {
    this.#overheads++
    this.#overheadSeconds += seconds
    BUCKETS.forEach((bound, index) => {
      if (seconds <= bound) this.#buckets[index] = (this.#buckets[index] ?? 0) + 1
    })
  }
}

const OVERHEAD_ONLY: ReadonlySet<string> = new Set(['replayed', 'in_progress', 'mismatch'])

function countersOf({ type, error }: RepriseEvent): readonly Counter[] {
  switch (type) {
    case 'replayed':
      return ['checked', 'hit', 'duplicates_prevented']
    case 'in_progress':
      return ['checked', 'in_progress', 'duplicates_prevented']
    case 'mismatch':
      return ['checked', 'mismatch']
    case 'executed':
    case 'postponed':
    case 'unknown':
    case 'dead_letter':
      return ['checked', 'miss']
    case 'resumed':
      return ['checked', 'miss', 'resumed']
    case 'failed':
      // The engine's own failures came before a record was seen; what a handler throws came after.
      return isRepriseError(error) ? [] : ['checked', 'miss']
    case 'rejected':
      return ['rejected']
    case 'store_error':
      return ['store_errors']
    default:
      return []
  }
}
