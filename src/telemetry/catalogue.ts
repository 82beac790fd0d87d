/**
 * Every metric, with its name and what it means. Names are those that dashboards and alerts rely on.
 *
 * `checked = miss + hit + in_progress + mismatch`, and `duplicates_prevented = hit + in_progress`.
 *
 * @module
 */

import type { CountName } from '../engine/counts.ts'

/** A metric. */
export interface Metric {
  /** Name in OpenTelemetry. */
  readonly name: string
  /** Name in Prometheus. */
  readonly prometheus: string
  readonly kind: 'counter' | 'gauge' | 'histogram'
  /** Unit in OpenTelemetry. */
  readonly unit: string
  readonly help: string
}

/** What is counted: what the store keeps, and the two that are sums of these. */
export type CounterName = CountName | 'checked' | 'duplicates_prevented'

function counter(name: string, unit: string, help: string): Metric {
  return {
    ...{ name: `idempotency.${name}`, prometheus: `idempotency_${name}_total` },
    ...{ kind: 'counter', unit, help },
  }
}

/** The counters, by what is counted. */
export const COUNTERS: Readonly<Record<CounterName, Metric>> = {
  checked: counter(
    'checked',
    '{request}',
    'Requests with a key that were checked against a record.',
  ),
  miss: counter('miss', '{request}', 'Checked requests whose work was run.'),
  hit: counter('hit', '{request}', 'Checked requests that were given the stored answer.'),
  in_progress: counter(
    'in_progress',
    '{request}',
    'Checked requests that were refused because an earlier run has not come to its end.',
  ),
  mismatch: counter(
    'mismatch',
    '{request}',
    'Checked requests that were refused because the key stands for another request.',
  ),
  duplicates_prevented: counter(
    'duplicates_prevented',
    '{request}',
    'Runs that would have happened twice without a key: hit and in_progress.',
  ),
  resumed: counter('resumed', '{request}', 'Requests that took up what an earlier run had left.'),
  rejected: counter(
    'rejected',
    '{request}',
    'Requests refused for their key: missing, bad, or over the quota of the caller.',
  ),
  bypassed: counter('bypassed', '{request}', 'Requests that ran unprotected.'),
  store_errors: counter('store_errors', '{error}', 'Calls to the store that failed or timed out.'),
  dead_letters: counter('dead_letters', '{record}', 'Records that were put before a person.'),
  completed: counter('completed', '{record}', 'Records that the completer brought to their end.'),
  reaped: counter('reaped', '{record}', 'Finished records that the reaper removed.'),
  enqueued: counter('enqueued', '{job}', 'Staged jobs that were handed to their queue.'),
}

/** Unfinished records by their status. */
export const UNFINISHED: Metric = {
  ...{ name: 'idempotency.unfinished', prometheus: 'idempotency_unfinished', kind: 'gauge' },
  unit: '{record}',
  help: 'Unfinished records: running, suspended (to be resumed), unknown (for a person to settle).',
}

/** How long a worker has said nothing. */
export const WORKER_SILENCE: Metric = {
  ...{ name: 'idempotency.worker_silence', prometheus: 'idempotency_worker_silence_seconds' },
  ...{ kind: 'gauge', unit: 's', help: 'Time since a worker last ran, on whichever node.' },
}

/** What protection costs. */
export const OVERHEAD: Metric = {
  ...{ name: 'idempotency.overhead', prometheus: 'idempotency_overhead_seconds' },
  ...{ kind: 'histogram', unit: 's' },
  help: 'Time of a checked request that was neither its handler nor waiting for another run.',
}

/** All of them. */
export const METRICS: readonly Metric[] = [
  ...Object.values(COUNTERS),
  ...[UNFINISHED, WORKER_SILENCE, OVERHEAD],
]

/** Upper ends of the histogram's buckets, in seconds. */
export const OVERHEAD_BOUNDS: readonly number[] = [
  ...[0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
]
