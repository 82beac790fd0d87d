/**
 * OpenTelemetry in memory, by the interfaces of its API: what was measured and traced can be looked at.
 *
 * @module
 */

import {
  type Attributes,
  createNoopMeter,
  type Meter,
  type MetricOptions,
  type Observable,
  type ObservableCallback,
  type Span,
  type SpanOptions,
  type SpanStatus,
  type TimeInput,
  type Tracer,
  trace,
} from '@opentelemetry/api'

export interface Measurement {
  readonly name: string
  readonly value: number
  readonly attributes: Attributes
}

export interface InMemoryMeter {
  readonly meter: Meter
  readonly instruments: Map<string, { readonly kind: string; readonly options: MetricOptions }>
  readonly measurements: Measurement[]
  /** Asks every observable instrument, as a reader does. */
  collect(): Promise<readonly Measurement[]>
}

export function inMemoryMeter(): InMemoryMeter {
  const instruments: InMemoryMeter['instruments'] = new Map()
  const measurements: Measurement[] = []
  const callbacks: { readonly name: string; readonly callback: ObservableCallback }[] = []
  const note = (kind: string, name: string, options: MetricOptions = {}) => {
    if (instruments.has(name)) throw new Error(`${name} was made twice.`)
    instruments.set(name, { kind, options })
    return (value: number, attributes: Attributes = {}) => {
      if (kind === 'counter' && value < 0) throw new Error('Counters only grow.')
      measurements.push({ name, value, attributes })
    }
  }
  const meter: Meter = Object.assign(createNoopMeter(), {
    createCounter: (name: string, options?: MetricOptions) => ({
      add: note('counter', name, options),
    }),
    createHistogram: (name: string, options?: MetricOptions) => ({
      record: note('histogram', name, options),
    }),
    createObservableGauge: (name: string, options?: MetricOptions): Observable => {
      note('gauge', name, options)
      return {
        addCallback: (callback) => void callbacks.push({ name, callback }),
        removeCallback: () => {},
      }
    },
  })
  const collect = async () => {
    const observed: Measurement[] = []
    for (const { name, callback } of callbacks) {
      await callback({
        observe: (value, attributes = {}) => void observed.push({ name, value, attributes }),
      })
    }
    return observed
  }
  return { meter, instruments, measurements, collect }
}

export interface TracedSpan {
  readonly name: string
  readonly startTime: TimeInput | undefined
  readonly attributes: Attributes
  status?: SpanStatus
  endTime?: TimeInput | undefined
}

export interface InMemoryTracer {
  readonly tracer: Tracer
  readonly spans: TracedSpan[]
}

export function inMemoryTracer(): InMemoryTracer {
  const spans: TracedSpan[] = []
  const silent = trace.wrapSpanContext({ traceId: '1', spanId: '1', traceFlags: 0 })
  const tracer: Tracer = {
    startSpan(name: string, { startTime, attributes = {} }: SpanOptions = {}): Span {
      const span: TracedSpan = { name, startTime, attributes }
      spans.push(span)
      return Object.assign(Object.create(silent) as Span, {
        setStatus(status: SpanStatus) {
          span.status = status
          return this
        },
        end(endTime?: TimeInput) {
          span.endTime = endTime
        },
      })
    },
    startActiveSpan: () => {
      throw new Error('Spans of decisions are never active.')
    },
  }
  return { tracer, spans }
}
