/**
 * Phases, as migrations 3 and 13 say them: what a phase writes, its recovery point and the check of the
 * fence are one commit.
 *
 * @module
 */

import { advanced, finished, suspended } from '../../../src/core/transition.ts'
import type { Advance, Claim, Finish } from '../../../src/engine/store.ts'
import type { Isolation } from '../../../src/engine/transactions.ts'
import type {
  Attempt,
  BegunCall,
  Edition,
  Leaving,
  Left,
  Patience,
  Stop,
  TakenRecord,
  TakeRequest,
} from '../../../src/engine/work.ts'
import { cameBack, held, release } from './records.ts'
import { awaitRow, DatabaseError, isFree, rowLock, Session } from './session.ts'
import type { AttemptRow, RecordRow, Tables } from './tables.ts'

/** Opens the transaction of a phase; `undefined` when the claim was lost. */
export function beginPhase(
  tables: Tables,
  claim: Claim,
  { isolation, leaseMs }: { readonly isolation: Isolation; readonly leaseMs: number },
): Session | undefined {
  if (held(tables, claim) === undefined) return undefined
  const session = new Session(tables, { isolation, idleMs: leaseMs })
  session.seen.set(claim.id, tables.versions.get(claim.id) ?? 0)
  return session
}

/** How a phase ends. */
export interface PhaseEnd {
  readonly claim: Claim
  readonly attempt: Attempt
  readonly step: { readonly advance: Advance } | { readonly finish: Finish }
}

/** Moves the record on and commits; throws, with nothing done, when the claim was lost. */
export function endPhase(tables: Tables, session: Session, { claim, attempt, step }: PhaseEnd) {
  session.heard()
  awaitRow(tables, claim.id, session)
  const isSnapshot = session.isolation !== 'read committed'
  const isSame = session.seen.get(claim.id) === (tables.versions.get(claim.id) ?? 0)
  if (isSnapshot && !isSame && !tables.has('fence-unchecked-in-phase')) {
    session.end()
    throw new DatabaseError('retry', 'could not serialize access due to concurrent update')
  }
  const record = tables.has('fence-unchecked-in-phase')
    ? tables.records.get(claim.id)
    : held(tables, claim)
  if (record === undefined) {
    session.end()
    throw new DatabaseError('lost', 'another run has taken over')
  }
  session.writes.push(() => {
    const now = tables.now()
    if ('finish' in step) {
      tables.put(claim.id, { ...record, ...finished(record, step.finish, now) }, 'finish phase')
      cameBack(tables, claim.id)
      endAttempt(tables, { claim, attempt, ending: 'responded' })
    } else {
      const next = flawedStep(tables, step.advance, record)
      tables.put(claim.id, { ...record, ...advanced(record, next, now) }, 'advance phase')
      const reached = step.advance.recoveryPoint
      endAttempt(tables, { claim, attempt, ending: 'advanced', reached })
    }
  })
  session.commit()
  tables.wake(claim.id)
}

function flawedStep(tables: Tables, step: Advance, record: RecordRow): Advance {
  if (tables.has('point-forgotten')) return { ...step, recoveryPoint: record.recoveryPoint }
  if (tables.has('state-forgotten')) return { ...step, state: record.state }
  return step
}

/** Notes that a foreign call is about to be made. */
export function beginCall(
  tables: Tables,
  { claim, attempt }: { readonly claim: Claim; readonly attempt: Attempt },
  { deniesEarlier }: { readonly deniesEarlier: boolean },
): boolean {
  if (held(tables, claim) === undefined) return false
  awaitRow(tables, claim.id)
  tables.sync()
  if (deniesEarlier) denyEarlier(tables, claim, attempt)
  if (tables.has('call-unnoted')) return true
  tables.attempts.push({
    ...entry(tables, claim, attempt),
    ...{ beganAt: tables.now(), endedAt: null, ending: null },
  })
  return true
}

/** The provider knows nothing of the calls of earlier runs. */
function denyEarlier(tables: Tables, { id, fence }: Claim, { callKey }: Attempt): void {
  const isEarlier = (one: AttemptRow) =>
    one.recordId === id && one.callKey === callKey && one.fence < fence && one.endedAt === null
  const end = { endedAt: tables.now(), ending: 'denied' } as const
  tables.attempts = tables.attempts.map((one) => (isEarlier(one) ? { ...one, ...end } : one))
}

/** What is known of the calls that were begun under this key. */
export function begunCall(tables: Tables, id: string, callKey: string): BegunCall | undefined {
  const begun = tables.attempts.filter(
    (one) =>
      one.recordId === id &&
      one.callKey === callKey &&
      !(tables.has('call-by-clock') && isBefore(tables, one)) &&
      (one.endedAt === null || one.ending === 'denied'),
  )
  if (begun.length === 0) return undefined
  return begun.some(({ endedAt }) => endedAt === null) ? 'open' : 'denied'
}

/** Whether the attempt began, by the clock of its time, before its record was made. */
function isBefore(tables: Tables, { recordId, beganAt }: AttemptRow): boolean {
  return beganAt < (tables.records.get(recordId)?.createdAt ?? 0)
}

/** Gives the lease up and notes why. */
export function stopPhase(
  tables: Tables,
  { claim, attempt }: { readonly claim: Claim; readonly attempt: Attempt },
  { ending, error }: Stop,
): boolean {
  if (!release(tables, claim, 'suspend')) return false
  endAttempt(tables, { claim, attempt, ending, error })
  return true
}

/** Leaves the record to nodes with other versions of the operation. */
export function leavePhase(
  tables: Tables,
  { claim, attempt }: { readonly claim: Claim; readonly attempt: Attempt },
  { version, otherVersionMs, error }: Leaving,
): Left {
  const record = held(tables, claim)
  if (record === undefined) return 'lost'
  awaitRow(tables, claim.id)
  const now = tables.now()
  const before =
    record.left?.fence === claim.fence - 1
      ? record.left
      : { since: now, by: [] as readonly string[] }
  if (before.since <= now - otherVersionMs) return 'over'
  const isNew = !before.by.includes(version)
  const left = {
    ...{ since: before.since, fence: claim.fence },
    by: isNew ? [...before.by, version] : before.by,
  }
  const tries = record.tries - (record.drivenFence === claim.fence ? 1 : 0)
  tables.put(claim.id, { ...record, ...suspended(record), resumeAt: now, tries, left }, 'leave')
  if (isNew) endAttempt(tables, { claim, attempt, ending: 'retry_later', error })
  tables.wake(claim.id)
  return 'left'
}

/** How long a completer leaves alone at least what it did not understand, in milliseconds. */
const LEFT_MS_MIN = 60_000

/** Takes one unfinished record of the operation whose time has come. */
export function takeUnfinished(
  tables: Tables,
  { edition, request }: { readonly edition: Edition; readonly request: TakeRequest },
  { graceMs, retryMs, retryMsMax }: Patience,
): TakenRecord | undefined {
  const now = tables.now()
  return take(tables, request, (record) => {
    const { left, triedAt, createdAt } = record
    const pauseMs = Math.min(retryMs * 2 ** Math.min(record.tries, 30), retryMsMax)
    const isDue = createdAt <= now - graceMs && (triedAt ?? createdAt) <= now - pauseMs
    const isLeft = left?.fence === record.fence && left.by.includes(edition.version)
    const isLookedAtAgain =
      (left?.since ?? now) <= now - edition.otherVersionMs ||
      (triedAt !== null && triedAt <= now - Math.max(retryMsMax, LEFT_MS_MIN))
    return (
      record.recoveryPoint !== null &&
      record.operation === edition.operation &&
      record.expiresAt > now &&
      (record.resumeAt !== undefined || isDue) &&
      (!isLeft || isLookedAtAgain)
    )
  })
}

/** Takes one unfinished record past its retention. */
export function takeAbandoned(tables: Tables, request: TakeRequest): TakenRecord | undefined {
  return take(tables, request, ({ expiresAt }) => expiresAt <= tables.now())
}

function take(
  tables: Tables,
  { owner, leaseMs, retentionMs }: TakeRequest,
  isChosen: (record: RecordRow) => boolean,
): TakenRecord | undefined {
  const now = tables.now()
  const isLive = ({ leaseUntil }: RecordRow) =>
    leaseUntil !== null && leaseUntil > now && !tables.has('taken-while-leased')
  const [record] = [...tables.records.values()]
    .filter((one) => one.response === null && !isLive(one) && isChosen(one))
    .filter(({ id }) => isFree(tables, rowLock(id)))
    .sort((one, other) => one.createdAt - other.createdAt)
  if (record === undefined) return undefined
  const taken: RecordRow = {
    ...record,
    fence: record.fence + (tables.has('taken-under-same-fence') ? 0 : 1),
    owner: tables.has('taken-under-same-fence') ? (record.owner ?? owner) : owner,
    leaseUntil: now + leaseMs,
    expiresAt: Math.max(record.expiresAt, now + retentionMs),
    ...{ triedAt: now, tries: record.tries + 1, resumeAt: undefined },
    drivenFence: record.fence + 1,
  }
  tables.put(record.id, taken, 'take')
  const { id, caller, operation, key, fingerprint, fence, recoveryPoint, state, input } = taken
  return {
    ...{ id, caller, operation, key, fingerprint, recoveryPoint, state, input },
    claim: { id, owner: taken.owner ?? owner, fence },
    ...{ origin: taken.origin, tries: taken.tries },
  }
}

interface Ending {
  readonly claim: Claim
  readonly attempt: Attempt
  readonly ending: NonNullable<AttemptRow['ending']>
  readonly reached?: string | null
  readonly error?: string | null
}

/** One more line of history, or the end of the call that was begun. */
function endAttempt(
  tables: Tables,
  { claim, attempt, ending, reached = null, error = null }: Ending,
): void {
  const now = tables.now()
  const isOpen = (one: AttemptRow) =>
    one.recordId === claim.id &&
    one.fence === claim.fence &&
    one.callKey === attempt.callKey &&
    one.endedAt === null
  const end = { endedAt: now, ending, reached, error }
  if (attempt.callKey !== null && tables.attempts.some(isOpen)) {
    tables.attempts = tables.attempts.map((one) => (isOpen(one) ? { ...one, ...end } : one))
    return
  }
  const began = { beganAt: now - attempt.tookMs }
  tables.attempts.push({ ...entry(tables, claim, attempt), ...began, ...end })
}

function entry(tables: Tables, { id, fence }: Claim, { point, actor, callKey }: Attempt) {
  const number = tables.number()
  const made = tables.records.get(id)?.made ?? 0
  return { number, made, recordId: id, fence, point, actor, callKey, reached: null, error: null }
}
