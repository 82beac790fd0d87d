/**
 * Prometheus' text format, version 0.0.4.
 *
 * @module
 */

import {
  COUNTERS,
  type CounterName,
  type Metric,
  OVERHEAD,
  UNFINISHED,
  WORKER_SILENCE,
} from './catalogue.ts'
import type { Distribution } from './histogram.ts'
import type { MetricsSnapshot } from './metrics.ts'

/** The content type of {@link exposition}. */
export const PROMETHEUS_CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** What belongs to no operation, and is there from the start. */
const WITHOUT_OPERATION: ReadonlySet<CounterName> = new Set(['dead_letters', 'reaped', 'enqueued'])

/** A snapshot as Prometheus reads it. */
export function exposition(snapshot: MetricsSnapshot): string {
  const { operations, workers, unfinished, silence } = snapshot
  const lines: string[] = []
  // The keys are those of the table.
  for (const name of Object.keys(COUNTERS) as CounterName[]) {
    const metric = COUNTERS[name]
    lines.push(...head(metric))
    if (WITHOUT_OPERATION.has(name)) lines.push(line(metric.prometheus, {}, workers[name]))
    if (name === 'reaped' || name === 'enqueued') continue
    for (const [operation, { counts, storeErrors }] of Object.entries(operations)) {
      const causes = name === 'store_errors' ? Object.entries(storeErrors) : []
      for (const [cause, count] of causes) {
        lines.push(line(metric.prometheus, { operation, cause }, count))
      }
      if (causes.length > 0) continue
      lines.push(line(metric.prometheus, { operation }, counts[name]))
    }
  }
  lines.push(...gauge(UNFINISHED, 'status', { ...unfinished }))
  lines.push(...gauge(WORKER_SILENCE, 'worker', { ...silence }))
  lines.push(...head(OVERHEAD))
  for (const [operation, { overhead }] of Object.entries(operations)) {
    lines.push(...histogram({ operation }, overhead))
  }
  return `${lines.join('\n')}\n`
}

function head({ prometheus, kind, help }: Metric): readonly string[] {
  return [`# HELP ${prometheus} ${help}`, `# TYPE ${prometheus} ${kind}`]
}

function gauge(
  metric: Metric,
  label: string,
  values: Readonly<Record<string, number>>,
): readonly string[] {
  const lines = Object.entries(values).map(([value, number]) => {
    return line(metric.prometheus, { [label]: value }, number)
  })
  return [...head(metric), ...lines]
}

function histogram(
  labels: Readonly<Record<string, string>>,
  { buckets, count, sum }: Distribution,
): readonly string[] {
  const name = OVERHEAD.prometheus
  return [
    ...buckets.map(({ le, count: at }) => line(`${name}_bucket`, { ...labels, le: `${le}` }, at)),
    line(`${name}_bucket`, { ...labels, le: '+Inf' }, count),
    line(`${name}_sum`, labels, sum),
    line(`${name}_count`, labels, count),
  ]
}

function line(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escaped(text)}"`)
  return pairs.length === 0 ? `${name} ${value}` : `${name}{${pairs.join(',')}} ${value}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
}
