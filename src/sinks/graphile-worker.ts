/**
 * Jobs to graphile-worker, in the transaction that removes them: each is handed over exactly once.
 *
 * @module
 */

import type { Execute } from '../engine/work.ts'
import type { Sink, StagedJob } from '../workers/sink.ts'
import { type ExecuteOptions, executing } from './execute.ts'
import { addJob } from './queries.ts'
import { sendWithin } from './sending.ts'

/** What graphile-worker is told about a job besides its payload and key. */
export interface GraphileJobSpec {
  /**
   * Jobs of one queue run one after the other.
   *
   * @default none: they run at the same time
   */
  readonly queueName?: string
  /**
   * How often graphile-worker tries the job.
   *
   * @default graphile-worker's own, 25
   */
  readonly maxAttempts?: number
  /**
   * Lower numbers run first.
   *
   * @default 0
   */
  readonly priority?: number
}

/** Settings of {@link graphileWorkerSink}. */
export interface GraphileWorkerSinkOptions<Tx> extends ExecuteOptions<Tx> {
  /**
   * The task that a job is for.
   *
   * @default the name of the job
   */
  readonly task?: (job: StagedJob) => string
  /**
   * Queue, attempts and priority of a job.
   *
   * @default none: graphile-worker's own
   */
  readonly spec?: (job: StagedJob) => GraphileJobSpec
  /**
   * Schema of graphile-worker.
   *
   * @default 'graphile_worker'
   */
  readonly schema?: string
}

/**
 * Hands jobs to graphile-worker 0.12 or later, in the same database as the store. Our id is the
 * job key: a job that is staged again under the same `dedupeKey` replaces the first one while that
 * waits.
 *
 * @example
 * ```ts
 * createWorkers(reprise, { sink: graphileWorkerSink() })
 * ```
 */
export function graphileWorkerSink<Tx>(options: GraphileWorkerSinkOptions<Tx> = {}): Sink<Tx> {
  const { task = ({ name }) => name, schema = 'graphile_worker' } = options
  const statement = addJob(schema)
  const send = async (job: StagedJob, execute: Execute) => {
    const { queueName, maxAttempts, priority } = options.spec?.(job) ?? {}
    const payload = JSON.stringify(job.args)
    const values = [task(job), payload, job.id, queueName, maxAttempts, priority]
    await execute(statement, values)
  }
  return {
    name: 'graphile-worker',
    deliver: (jobs, delivery) => {
      const execute = executing(options, delivery)
      return sendWithin(jobs, delivery, (job, tx) => send(job, execute(tx)))
    },
  }
}
