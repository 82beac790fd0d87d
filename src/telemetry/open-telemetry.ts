/**
 * Metrics and spans through OpenTelemetry. Its API is declared by shape, so that it does not have to
 * be installed by those who do without.
 *
 * @module
 */

import { causeCodeOf } from '../core/causes.ts'
import { isRepriseError } from '../core/errors.ts'
import { checkNames, type Names } from '../core/known-options.ts'
import { whole } from '../core/options.ts'
import { type Clock, systemClock } from '../engine/clock.ts'
import type { OutcomeType, RepriseEvent } from '../engine/events.ts'
import {
  COUNTERS,
  type CounterName,
  type Metric,
  OVERHEAD,
  OVERHEAD_BOUNDS,
  UNFINISHED,
  WORKER_SILENCE,
} from './catalogue.ts'
import { type GaugeSource, Gauges, type Reading } from './gauges.ts'
import { CAUSES_MAX, Labels } from './labels.ts'
import {
  type Addition,
  additionsOf,
  additionsOfWorker,
  isChecked,
  RAISED,
  storeCauseOf,
  type WorkerNote,
} from './tally.ts'

/** What is said with a measurement or a span. */
export type OtelAttributes = Record<string, string | number | boolean>

interface InstrumentOptions {
  readonly description: string
  readonly unit: string
  readonly advice?: { explicitBucketBoundaries?: number[] }
}

/** A gauge of `@opentelemetry/api` that is asked for its values. */
export interface OtelGauge {
  addCallback(
    callback: (result: {
      observe(value: number, attributes?: OtelAttributes): void
    }) => Promise<void>,
  ): void
}

/** A `Meter` of `@opentelemetry/api`. */
export interface OtelMeter {
  createCounter(
    name: string,
    options: InstrumentOptions,
  ): { add(value: number, attributes?: OtelAttributes): void }
  createHistogram(
    name: string,
    options: InstrumentOptions,
  ): { record(value: number, attributes?: OtelAttributes): void }
  createObservableGauge(name: string, options: InstrumentOptions): OtelGauge
}

/** A `Tracer` of `@opentelemetry/api`. */
export interface OtelTracer {
  startSpan(
    name: string,
    options: { startTime: number; attributes: OtelAttributes },
  ): { setStatus(status: { code: number }): unknown; end(endTime: number): void }
}

/** Settings of {@link openTelemetry}. */
export interface OpenTelemetryOptions {
  /**
   * Where metrics go: `metrics.getMeter('reprise')`.
   *
   * @default none are made
   */
  readonly meter?: OtelMeter
  /**
   * Where spans go: `trace.getTracer('reprise')`.
   *
   * @default none are made
   */
  readonly tracer?: OtelTracer
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

const OPTIONS: Names<OpenTelemetryOptions> = {
  meter: true,
  tracer: true,
  store: true,
  operationsMax: true,
  clock: true,
}

/** What {@link openTelemetry} makes. */
export interface OpenTelemetry {
  /** For `createReprise`. */
  readonly onEvent: (event: RepriseEvent) => void
  /** For `createWorkers`. */
  readonly onWorkerEvent: (note: WorkerNote) => void
}

/**
 * Reports what engine and workers tell: the metrics, and one span for each decision, below the span
 * that is active where the request runs.
 *
 * @example
 * ```ts
 * import { metrics, trace } from '@opentelemetry/api'
 *
 * const telemetry = openTelemetry({
 *   meter: metrics.getMeter('reprise'),
 *   tracer: trace.getTracer('reprise'),
 *   store,
 * })
 * const reprise = createReprise({ store, onEvent: telemetry.onEvent })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function openTelemetry(options: OpenTelemetryOptions): OpenTelemetry {
  checkNames('openTelemetry()', options, OPTIONS)
  const { meter, tracer, store, operationsMax = 100, clock = systemClock } = options
  const labels = new Labels(whole('operationsMax', operationsMax, 0))
  const instruments = meter && new Instruments(meter, labels)
  if (meter !== undefined && store !== undefined) observe(meter, new Gauges(store, clock))
  return {
    onEvent(event) {
      instruments?.measure(event)
      if (tracer !== undefined && isOutcome(event)) trace(tracer, clock, event)
    },
    onWorkerEvent: (note) => instruments?.measureWorker(note),
  }
}

class Instruments {
  readonly #counters: ReadonlyMap<CounterName, ReturnType<OtelMeter['createCounter']>>
  readonly #overhead: ReturnType<OtelMeter['createHistogram']>
  readonly #labels: Labels
  readonly #causes = new Labels(CAUSES_MAX)

  constructor(meter: OtelMeter, labels: Labels) {
    this.#labels = labels
    // The keys are those of the table.
    const names = Object.keys(COUNTERS) as CounterName[]
    this.#counters = new Map(
      names.map((name) => {
        const metric = COUNTERS[name]
        return [name, meter.createCounter(metric.name, optionsOf(metric))]
      }),
    )
    const advice = { explicitBucketBoundaries: [...OVERHEAD_BOUNDS] }
    this.#overhead = meter.createHistogram(OVERHEAD.name, { ...optionsOf(OVERHEAD), advice })
  }

  measure(event: RepriseEvent): void {
    const attributes = { operation: this.#labels.of(event.operation) }
    const cause = storeCauseOf(event)
    const more = cause === undefined ? {} : { cause: this.#causes.of(cause) }
    this.#add(additionsOf(event), { ...attributes, ...more })
    if (event.overheadMs !== undefined && isChecked(event)) {
      this.#overhead.record(event.overheadMs / 1000, attributes)
    }
  }

  measureWorker(note: WorkerNote): void {
    const { record } = note
    const attributes = record === undefined ? {} : { operation: this.#labels.of(record.operation) }
    this.#add(additionsOfWorker(note), attributes)
  }

  #add(additions: readonly Addition[], attributes: OtelAttributes): void {
    for (const [name, count] of additions) {
      for (const raised of RAISED[name]) this.#counters.get(raised)?.add(count, attributes)
    }
  }
}

function optionsOf({ help, unit }: Metric): InstrumentOptions {
  return { description: help, unit }
}

/** Has the gauges asked when metrics are collected; all collectors together ask the store once. */
function observe(meter: OtelMeter, gauges: Gauges): void {
  const gauge = (
    metric: Metric,
    valuesOf: (reading: Reading) => Readonly<Record<string, number>>,
    attribute: string,
  ) => {
    const made = meter.createObservableGauge(metric.name, optionsOf(metric))
    made.addCallback(async (result) => {
      await gauges.refresh()
      const values = gauges.reading === undefined ? {} : valuesOf(gauges.reading)
      for (const [name, value] of Object.entries(values))
        result.observe(value, { [attribute]: name })
    })
  }
  gauge(UNFINISHED, ({ unfinished }) => ({ ...unfinished }), 'status')
  gauge(WORKER_SILENCE, ({ silence }) => silence, 'worker')
}

/** `SpanStatusCode.ERROR`. */
const ERROR = 2

function trace(tracer: OtelTracer, clock: Clock, event: RepriseEvent): void {
  const { type, operation, id, caller, point, code, elapsedMs, handlerMs, overheadMs } = event
  const endTime = clock.unix()
  const attributes = present({
    'idempotency.outcome': type,
    'idempotency.operation': operation,
    'idempotency.record': id,
    'idempotency.caller': caller,
    'idempotency.recovery_point': point,
    'idempotency.code': code,
    'idempotency.cause': isRepriseError(event.error) ? causeCodeOf(event.error) : undefined,
    'idempotency.handler_ms': handlerMs,
    'idempotency.overhead_ms': overheadMs,
  })
  const span = tracer.startSpan(`idempotency ${type}`, {
    startTime: endTime - elapsedMs,
    attributes,
  })
  // What was thrown is the app's, and may say more than a trace is to know.
  if (type === 'failed') span.setStatus({ code: ERROR })
  span.end(endTime)
}

function present(
  values: Readonly<Record<string, string | number | null | undefined>>,
): OtelAttributes {
  const attributes: OtelAttributes = {}
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined) attributes[name] = value
  }
  return attributes
}

const OUTCOMES: ReadonlySet<string> = new Set<OutcomeType>([
  ...(['executed', 'resumed', 'replayed', 'in_progress', 'mismatch', 'unknown'] as const),
  ...(['over_quota', 'postponed', 'failed', 'rejected', 'bypassed'] as const),
])

/** Each request has one outcome; `dead_letter` comes on the way to it. */
function isOutcome({ type }: RepriseEvent): boolean {
  return OUTCOMES.has(type)
}
