/**
 * Transaction mode, as migration 2 says it: the key is reserved by two locks, and the finished record
 * is inserted at the end, where its primary key decides.
 *
 * @module
 */

import { isExpired, isFinished, isLeaseLive, STARTED } from '../../../src/core/record.ts'
import type { Finish, Refusal } from '../../../src/engine/store.ts'
import type { TransactionRequest } from '../../../src/engine/transactions.ts'
import { refused } from '../../../src/stores/answer.ts'
import { buryRecord, withdrawLetter } from './letters.ts'
import { refusedByQuota, untilWhen } from './records.ts'
import { Blocked, DatabaseError, rowLock, Session } from './session.ts'
import type { RecordRow, Tables } from './tables.ts'

const OUTLASTED = 'the transaction was open for longer than the retention'

/** The transaction is open. */
export interface Opened {
  readonly outcome: 'execute' | 'recover'
  readonly session: Session
  readonly beganAt: number
}

/** Reserves the key, or says what stands in the way. */
export function beginTransaction(
  tables: Tables,
  request: TransactionRequest<unknown>,
): Opened | Refusal {
  const { id, fingerprint, isolation = 'read committed', leaseMs } = request
  const record = tables.records.get(id)
  const look = lookAt(record, request, tables.now())
  if (look !== 'execute' && look !== 'recover') return refused(look, record, tables.now())

  const session = new Session(tables, { isolation, idleMs: leaseMs })
  const isReserved = !tables.has('key-unreserved')
  if (isReserved && !session.lock(`same ${id} ${fingerprint}`)) {
    session.end()
    return { outcome: 'in_progress', leaseLeftMs: null, ageMs: null }
  }
  if (isReserved && !session.lock(`any ${id}`)) {
    session.end()
    return { outcome: 'mismatch' }
  }
  const isFresh = record === undefined || isExpired(record, tables.now())
  const over = isFresh ? refusedByQuota(tables, request) : undefined
  if (over !== undefined) {
    session.end()
    return over
  }
  if (record !== undefined) makeWay(tables, session, record)
  return { outcome: look, session, beganAt: tables.now() }
}

function lookAt(
  record: RecordRow | undefined,
  { fingerprintsAccepted, takesUnknown }: TransactionRequest<unknown>,
  now: number,
) {
  if (record === undefined || isExpired(record, now)) return 'execute'
  if (!fingerprintsAccepted.includes(record.fingerprint)) return 'mismatch'
  if (isFinished(record)) return 'replay'
  if (isLeaseLive(record, now)) return 'in_progress'
  if (record.recoveryPoint === STARTED) return 'execute'
  return takesUnknown ? 'recover' : 'unknown'
}

/** Deletes the record with the commit; until then its row is locked. */
function makeWay(tables: Tables, session: Session, record: RecordRow): void {
  const { id } = record
  if (!session.lock(rowLock(id))) {
    session.end()
    const holder = tables.locks.get(rowLock(id))
    throw holder === undefined ? new Error('The lock is free.') : new Blocked(holder)
  }
  const isPast = isExpired(record, tables.now())
  session.writes.push(() => {
    tables.put(id, undefined, 'make way')
    if (isFinished(record)) return
    const untold = { cause: 'abandoned', error: null, isUntold: true } as const
    if (isPast) buryRecord(tables, record, untold)
    else withdrawLetter(tables, record, 'A later request took it up.')
  })
}

/** Inserts the finished record and commits. */
export function commitTransaction(
  tables: Tables,
  { session, beganAt }: Opened,
  { request, finish }: { request: TransactionRequest<unknown>; finish: Finish },
): void {
  session.heard()
  const { id, caller, operation, key, fingerprint, owner, origin } = request
  const isTaken = tables.records.has(id) && tables.locks.get(rowLock(id)) !== session
  if (isTaken && !tables.has('key-unreserved')) {
    session.end()
    throw new DatabaseError('lost', 'duplicate key value violates unique constraint')
  }
  if (tables.now() >= beganAt + finish.retentionMs) {
    session.end()
    throw Object.assign(new DatabaseError('other', OUTLASTED), { code: 'RP004' })
  }
  session.writes.push(() => {
    const now = tables.now()
    const { response, resource, retentionMs } = finish
    const record: RecordRow = {
      ...{ id, caller, operation, key, fingerprint, owner, origin, response, resource },
      ...{ fence: 1, leaseUntil: null, recoveryPoint: null, state: null, input: null },
      ...{ createdAt: beganAt, finishedAt: now, expiresAt: now + retentionMs },
      ...{ made: tables.number(), triedAt: null, tries: 0, countsUntil: untilWhen(request, now) },
    }
    if (!tables.has('record-uncommitted')) tables.put(id, record, 'commit')
  })
  session.commit()
  tables.wake(id)
}
