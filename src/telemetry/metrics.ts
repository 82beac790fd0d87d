/**
 * The counters of a process.
 *
 * @module
 */

import { checkNames, type Names } from '../core/known-options.ts'
import { whole } from '../core/options.ts'
import { type Clock, systemClock } from '../engine/clock.ts'
import { COUNT_NAMES, type CountName, type Counts, noCounts } from '../engine/counts.ts'
import type { RepriseEvent } from '../engine/events.ts'
import type { StoreStats } from '../engine/store.ts'
import type { CounterName } from './catalogue.ts'
import { exposition } from './exposition.ts'
import { type GaugeSource, Gauges } from './gauges.ts'
import { type Distribution, Histogram } from './histogram.ts'
import { type HitRate, hitRate } from './hit-rate.ts'
import { CAUSES_MAX, Labels } from './labels.ts'
import {
  additionsOf,
  additionsOfWorker,
  isChecked,
  storeCauseOf,
  type WorkerNote,
  withSums,
} from './tally.ts'

/** Settings of {@link createMetrics}. */
export interface MetricsOptions {
  /**
   * The store to read from how many records are unfinished, and which workers are silent.
   *
   * @default none: those two gauges stay away
   */
  readonly store?: GaugeSource
  /**
   * How many operations are told apart; those that come later are all `other`.
   *
   * @default 100
   */
  readonly operationsMax?: number
  /**
   * The process's clock, for tests.
   *
   * @default the real one
   */
  readonly clock?: Clock
}

const OPTIONS: Names<MetricsOptions> = {
  store: true,
  operationsMax: true,
  clock: true,
}

/** Every counter, sums included. */
export type CounterValues = Readonly<Record<CounterName, number>>

/** What was counted of one operation. */
export interface OperationValues {
  readonly counts: CounterValues
  readonly overhead: Distribution
  /** Failures of the store by the code of their cause, such as `ECONNREFUSED`. */
  readonly storeErrors: Readonly<Record<string, number>>
}

/** Everything that was counted since the start of the process. */
export interface MetricsSnapshot {
  /** Over all operations and workers. */
  readonly total: CounterValues
  /** What requests, and the completer, did for each operation. */
  readonly operations: Readonly<Record<string, OperationValues>>
  /** What workers did for no operation in particular. */
  readonly workers: CounterValues
  /** The hit rate over all operations, judged. */
  readonly hitRate: HitRate
  /** As last read from the store; absent while it can not be asked. */
  readonly unfinished?: StoreStats
  /** Seconds since each worker last ran, as last read from the store. */
  readonly silence?: Readonly<Record<string, number>>
}

/** What {@link createMetrics} makes. */
export interface Metrics {
  /** For `createReprise`. */
  readonly onEvent: (event: RepriseEvent) => void
  /** For `createWorkers`. */
  readonly onWorkerEvent: (note: WorkerNote) => void
  /** Reads the gauges from the store, at most every ten seconds, however often it is called. */
  refresh(): Promise<void>
  /** Prometheus' text format, version 0.0.4. */
  text(): string
  snapshot(): MetricsSnapshot
}

/**
 * Counts what engine and workers tell.
 *
 * @example
 * ```ts
 * const metrics = createMetrics({ store })
 * const reprise = createReprise({ store, onEvent: metrics.onEvent })
 * app.get('/metrics', async (_, res) => {
 *   await metrics.refresh()
 *   res.type(PROMETHEUS_CONTENT_TYPE).send(metrics.text())
 * })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function createMetrics(options: MetricsOptions = {}): Metrics {
  checkNames('createMetrics()', options, OPTIONS)
  return new Collector(options)
}

class Collector implements Metrics {
  readonly #labels: Labels
  readonly #gauges: Gauges
  readonly #operations = new Map<string, Measured>()
  readonly #causes = new Labels(CAUSES_MAX)
  readonly #workers = noCounts()

  constructor({ store, operationsMax = 100, clock = systemClock }: MetricsOptions) {
    this.#labels = new Labels(whole('operationsMax', operationsMax, 0))
    this.#gauges = new Gauges(store, clock)
  }

  readonly onEvent = (event: RepriseEvent): void => {
    const { counts, overhead, causes } = this.#measured(event.operation)
    for (const [name, count] of additionsOf(event)) counts[name] += count
    const cause = storeCauseOf(event)
    if (cause !== undefined) {
      const label = this.#causes.of(cause)
      causes.set(label, (causes.get(label) ?? 0) + 1)
    }
    if (event.overheadMs !== undefined && isChecked(event)) {
      overhead.observe(event.overheadMs / 1000)
    }
  }

  readonly onWorkerEvent = (note: WorkerNote): void => {
    const { record } = note
    const counts = record === undefined ? this.#workers : this.#measured(record.operation).counts
    for (const [name, count] of additionsOfWorker(note)) counts[name] += count
  }

  refresh(): Promise<void> {
    return this.#gauges.refresh()
  }

  text(): string {
    return exposition(this.snapshot())
  }

  snapshot(): MetricsSnapshot {
    const measured = [...this.#operations].map(([operation, { counts, overhead, causes }]) => {
      const storeErrors = Object.fromEntries(causes)
      const values = { counts: withSums(counts), overhead: overhead.distribution(), storeErrors }
      return [operation, values] as const
    })
    const all = [...this.#operations.values()].map(({ counts }) => counts)
    const total = withSums(sum([...all, this.#workers]))
    return {
      ...{ total, hitRate: hitRate(total), workers: withSums(this.#workers) },
      operations: Object.fromEntries(measured),
      ...this.#gauges.reading,
    }
  }

  #measured(operation: string): Measured {
    const label = this.#labels.of(operation)
    const known = this.#operations.get(label)
    if (known !== undefined) return known
    const measured = { counts: noCounts(), overhead: new Histogram(), causes: new Map() }
    this.#operations.set(label, measured)
    return measured
  }
}

interface Measured {
  readonly counts: Record<CountName, number>
  readonly overhead: Histogram
  readonly causes: Map<string, number>
}

function sum(all: readonly Counts[]): Counts {
  const total = noCounts()
  for (const name of COUNT_NAMES) for (const counts of all) total[name] += counts[name]
  return total
}
