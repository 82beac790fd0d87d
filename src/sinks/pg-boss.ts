/**
 * Jobs to pg-boss, in the transaction that removes them: each is handed over exactly once.
 *
 * @module
 */

import { PG_BOSS, unsupported } from '../core/versions.ts'
import type { Execute } from '../engine/work.ts'
import type { Sink, StagedJob } from '../workers/sink.ts'
import { type ExecuteOptions, executing } from './execute.ts'
import { sendWithin } from './sending.ts'

/** What pg-boss executes its statements with. */
export interface PgBossDb {
  executeSql(text: string, values?: unknown[]): Promise<{ rows: unknown[] }>
}

/** What the sink uses of a `PgBoss`. */
export interface PgBossClient {
  send(name: string, data: object, options: PgBossSendOptions): Promise<string | null>
  getJobById(
    name: string,
    id: string,
    options: { readonly db: PgBossDb; readonly includeArchive: boolean },
  ): Promise<unknown>
}

/** What the sink tells pg-boss about a job. */
export interface PgBossSendOptions {
  readonly id: string
  readonly db: PgBossDb
}

/** Settings of {@link pgBossSink}. */
export interface PgBossSinkOptions<Tx> extends ExecuteOptions<Tx> {
  /**
   * The queue that a job goes to. It has to exist: a job for one that does not is not delivered.
   *
   * @default the name of the job
   */
  readonly queue?: (job: StagedJob) => string
  /**
   * Further options of `send`, such as priority, retryLimit or expireInSeconds.
   *
   * @default none: those of the queue
   */
  readonly sendOptions?: (job: StagedJob) => Readonly<Record<string, unknown>>
}

/**
 * Hands jobs to pg-boss 10.4 or later, in the same database as the store. The id is ours, and pg-boss
 * takes each id once: a job that is staged again under the same `dedupeKey` while pg-boss still has
 * the first one, finished or not, is the same job.
 *
 * @example
 * ```ts
 * createWorkers(reprise, { sink: pgBossSink(boss) })
 * ```
 * @throws RepriseError `reprise-version-unsupported`
 */
export function pgBossSink<Tx>(boss: PgBossClient, options: PgBossSinkOptions<Tx> = {}): Sink<Tx> {
  // Before there were queues to create, a job could not be given an id.
  if (!('createQueue' in boss)) throw unsupported(PG_BOSS, 'of version 9 or older')
  const { queue = ({ name }) => name, sendOptions = () => ({}) } = options
  const send = async (job: StagedJob, run: Execute) => {
    const { id, args } = job
    const name = queue(job)
    const db: PgBossDb = {
      executeSql: async (text, values = []) => ({ rows: [...(await run(text, values)).rows] }),
    }
    // Every library makes JSON of an object, and of this one exactly what was staged.
    const data = { toJSON: () => args }
    if ((await boss.send(name, data, { ...sendOptions(job), id, db })) !== null) return
    // Nothing was inserted: it is there already, or will never be.
    if ((await boss.getJobById(name, id, { db, includeArchive: true })) !== null) return
    throw new Error(`pg-boss has no queue ${name}, or its policy refuses the job.`)
  }
  return {
    name: 'pg-boss',
    deliver: (jobs, delivery) => {
      const execute = executing(options, delivery)
      return sendWithin(jobs, delivery, (job, tx) => send(job, execute(tx)))
    },
  }
}
