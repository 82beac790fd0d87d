/**
 * Staged jobs, as the store's statements say them.
 *
 * @module
 */

import type {
  JobPatience,
  NewJob,
  StagedJob,
  TakeJobs,
  Undelivered,
} from '../../../src/engine/work.ts'
import { Blocked, isFree, Session } from './session.ts'
import type { JobRow, Tables } from './tables.ts'

/** Whom the commit of a staged job wakes; no record has this id. */
export const ENQUEUER = 'enqueuer'

/** Stages a job in the transaction; gives its id. */
export function stageJob(
  tables: Tables,
  session: Session,
  { job, recordId }: { readonly job: NewJob; readonly recordId: string },
): string {
  session.heard()
  const { name, args, runAt, dedupeKey } = job
  const same = tables.jobs.find(
    (one) =>
      dedupeKey !== null && one.dedupeKey === dedupeKey && one.name === name && isWaiting(one),
  )
  if (same !== undefined) {
    // Locked, so that it is not handed over before this commit.
    if (session.lock(jobLock(same))) return same.id
    const holder = tables.locks.get(jobLock(same))
    if (holder !== undefined) throw new Blocked(holder)
  }
  const own = session.jobs.find((one) => dedupeKey !== null && one.dedupeKey === dedupeKey)
  if (own !== undefined) return own.id
  const number = tables.number()
  const id = dedupeKey === null ? `job-${number}` : `job-${name}-${dedupeKey}`
  const staged: JobRow = {
    ...{ number, id, recordId, name, args, dedupeKey, runAt },
    ...{ stagedAt: tables.now(), setAsideAt: null, attempts: 0, lastError: null },
  }
  session.jobs.push(staged)
  const write = () => {
    tables.jobs.push(staged)
    tables.changed({ kind: 'job staged', job: staged })
  }
  if (tables.has('staged-outside')) write()
  else if (!tables.has('stage-lost')) session.writes.push(write)
  session.onEnd(() => tables.wake(ENQUEUER))
  return id
}

/** Jobs that were taken, and the transaction that holds them. */
export interface TakenJobs {
  readonly session: Session
  readonly jobs: readonly StagedJob[]
  readonly rows: readonly JobRow[]
}

/** Locks jobs that are due. */
export function takeJobs(tables: Tables, { limit, silentMsMax }: TakeJobs): TakenJobs | undefined {
  const now = tables.now()
  const rows = tables.jobs
    .filter((job) => isWaiting(job) && dueOf(job) <= now)
    .filter((job) => isFree(tables, jobLock(job)))
    .sort(inOrder)
    .slice(0, limit)
  if (rows.length === 0) return undefined
  const session = new Session(tables, { isolation: 'read committed', idleMs: silentMsMax })
  for (const row of rows) session.lock(jobLock(row))
  if (tables.has('jobs-removed-early')) remove(tables, rows)
  const jobs = rows.map(({ id, name, args, attempts, stagedAt }) => {
    return { id, name, args: JSON.parse(args) as unknown, attempt: attempts + 1, stagedAt }
  })
  return { session, jobs, rows }
}

/** Removes what was delivered, puts the rest back, and commits. */
export function settleJobs(
  tables: Tables,
  { session, rows }: TakenJobs,
  { undelivered, patience }: { undelivered: readonly Undelivered[]; patience: JobPatience },
): void {
  session.heard()
  const kept = new Map(undelivered.map((one) => [one.id, one]))
  session.writes.push(() => {
    const isLost = tables.has('undelivered-removed')
    remove(tables, isLost ? rows : rows.filter(({ id }) => !kept.has(id)))
    for (const row of rows) {
      const failed = kept.get(row.id)
      if (failed === undefined || failed.isSinkDown === true) continue
      putBack(tables, { ...row, lastError: failed.error }, patience)
    }
  })
  session.commit()
}

/** In how many milliseconds the next job that nobody has locked is due. */
export function nextDueMs(tables: Tables): number | undefined {
  const [next] = tables.jobs
    .filter((job) => isWaiting(job) && isFree(tables, jobLock(job)))
    .sort(inOrder)
  if (next === undefined) return undefined
  return Math.max(0, dueOf(next) - tables.now())
}

function putBack(tables: Tables, row: JobRow, patience: JobPatience): void {
  const { retryMs, retryMsMax, attemptsMax } = patience
  const now = tables.now()
  const attempts = row.attempts + 1
  const runAt = now + Math.min(retryMs * 2 ** Math.min(row.attempts, 30), retryMsMax)
  const setAsideAt = attempts >= attemptsMax ? now : null
  const job: JobRow = { ...row, attempts, runAt, setAsideAt }
  tables.jobs = tables.jobs.map((one) => (one.number === row.number ? job : one))
  if (setAsideAt !== null) tables.changed({ kind: 'job set aside', job })
}

function remove(tables: Tables, rows: readonly JobRow[]): void {
  const numbers = new Set(rows.map(({ number }) => number))
  const removed = tables.jobs.filter(({ number }) => numbers.has(number))
  tables.jobs = tables.jobs.filter(({ number }) => !numbers.has(number))
  for (const job of removed) tables.changed({ kind: 'job removed', job })
}

function isWaiting({ setAsideAt }: JobRow): boolean {
  return setAsideAt === null
}

function jobLock({ number }: JobRow): string {
  return `job ${number}`
}

/** Since when a job waits to be handed over. */
function dueOf({ runAt, stagedAt }: JobRow): number {
  return runAt ?? stagedAt
}

function inOrder(one: JobRow, other: JobRow): number {
  return dueOf(one) - dueOf(other) || one.number - other.number
}
