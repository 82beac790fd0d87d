/**
 * Metrics, spans, logs and hooks.
 *
 * @module
 */

export type { CountName, CountQuery, CountStore, CountSum, Counts } from '../engine/counts.ts'
export { COUNTERS, type CounterName, METRICS, type Metric } from './catalogue.ts'
export { combine, type Hooks, hooks } from './combine.ts'
export { PROMETHEUS_CONTENT_TYPE } from './exposition.ts'
export type { GaugeSource } from './gauges.ts'
export type { Distribution } from './histogram.ts'
export { type HitRate, type HitRateBand, hitRate } from './hit-rate.ts'
export {
  type DuplicatesKeeper,
  type DuplicatesOptions,
  keepDuplicates,
  type NoteStore,
} from './keep-duplicates.ts'
export {
  keepStats,
  type StatsKeeper,
  type StatsOptions,
  type StatsStore,
} from './keep-stats.ts'
export {
  type LogFields,
  type Logger,
  type LogLevel,
  type LogOptions,
  logEvents,
} from './log-events.ts'
export {
  type CounterValues,
  createMetrics,
  type Metrics,
  type MetricsOptions,
  type MetricsSnapshot,
  type OperationValues,
} from './metrics.ts'
export {
  type OpenTelemetry,
  type OpenTelemetryOptions,
  type OtelAttributes,
  type OtelGauge,
  type OtelMeter,
  type OtelTracer,
  openTelemetry,
} from './open-telemetry.ts'
export { EVENT_CHANNEL, publishEvents, WORKER_CHANNEL } from './publish-events.ts'
export type { WorkerNote } from './tally.ts'
