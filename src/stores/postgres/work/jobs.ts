/**
 * Staged jobs: written in the transaction of the work they belong to, so that nobody sees them before
 * it commits; taken under a row lock and removed in the transaction that hands them over.
 *
 * @module
 */

import { TransactionEnded } from '../../../engine/stage.ts'
import type {
  JobBatch,
  JobPatience,
  JobStore,
  NewJob,
  StagedJob,
  TakeJobs,
  Undelivered,
} from '../../../engine/work.ts'
import { IDLE_MS_MAX, type Rows, type Session } from '../client.ts'
import { attempt } from '../faults.ts'
import { pack } from '../record.ts'
import type { WorkParts } from './parts.ts'
import type { WorkQueries } from './queries.ts'

/** Whom the commit of a staged job wakes; no record has this id. */
export const ENQUEUER = 'enqueuer'

/** What a job is staged with. */
interface Staging {
  readonly job: NewJob
  readonly recordId: string
  /** Which transaction was begun, so that the job is staged in no other. */
  readonly transaction: string
}

/** Stages a job in the transaction of `session`; gives its id. */
export async function stageJob(
  queries: Pick<WorkQueries, 'stage'>,
  session: Pick<Session<unknown>, 'query'>,
  { job, recordId, transaction }: Staging,
): Promise<string> {
  const { name, args, runAt, dedupeKey } = job
  const values = [runAt, pack(recordId), name, args, dedupeKey, pack(ENQUEUER), transaction]
  const [row] = await session.query({ statement: queries.stage, values })
  if (row === undefined) throw new TransactionEnded()
  return String(row[0])
}

/** The jobs of one schema. */
export class PostgresJobs<Tx> implements JobStore<Tx> {
  readonly #parts: WorkParts<Tx>

  constructor(parts: WorkParts<Tx>) {
    this.#parts = parts
  }

  async take(
    { limit, silentMsMax }: TakeJobs,
    patience: JobPatience,
  ): Promise<JobBatch<Tx> | undefined> {
    const { client, queries } = this.#parts
    const idleMs = client.single ? null : String(Math.min(Math.ceil(silentMsMax), IDLE_MS_MAX))
    const first = { statement: queries.take_jobs, values: [limit, idleMs] }
    const session = await attempt('take jobs', () => {
      return client.begin({ first, isolation: 'read committed' })
    })
    if (session.rows.length > 0) return this.#batch(session, patience)
    await session.rollback()
    return undefined
  }

  async nextDueMs(): Promise<number | undefined> {
    const { client, queries } = this.#parts
    const call = { statement: queries.next_due, values: [] }
    const [row] = await attempt('look for jobs', () => client.query(call))
    return row === undefined ? undefined : Number(row[0])
  }

  watch(wake: () => void): Promise<() => void> {
    return this.#parts.notices.watch(ENQUEUER, wake)
  }

  #batch(session: Session<Tx>, patience: JobPatience): JobBatch<Tx> {
    const { queries, client } = this.#parts
    const execute = client.execute?.bind(client)
    const { retryMs, retryMsMax, attemptsMax } = patience
    const jobs = session.rows.map(toJob)
    const numbers = new Map(session.rows.map((row, index) => [jobs[index]?.id, String(row[5])]))
    const numbersOf = (some: readonly { readonly id: string }[]) =>
      JSON.stringify(some.map(({ id }) => numbers.get(id)))
    return {
      jobs,
      tx: session.handle,
      within: (work) => session.nested(work),
      ...(execute && { execute }),
      async settle(undelivered: readonly Undelivered[]) {
        const kept = new Set(undelivered.map(({ id }) => id))
        const failed = undelivered.filter(({ isSinkDown }) => isSinkDown !== true)
        const values = [
          numbersOf(jobs.filter(({ id }) => !kept.has(id))),
          numbersOf(failed),
          JSON.stringify(failed.map(({ error }) => error.replaceAll('\0', ''))),
          ...[retryMs, retryMsMax, attemptsMax],
        ]
        await session.commit({ statement: queries.settle_jobs, values })
      },
      rollback: () => session.rollback(),
    }
  }
}

function toJob([id, name, args, tried, stagedAt]: Rows[number]): StagedJob {
  return {
    ...{ id: String(id), name: String(name), args: JSON.parse(String(args)) },
    ...{ attempt: Number(tried), stagedAt: Number(stagedAt) },
  }
}
