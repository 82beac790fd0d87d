/**
 * The verbs of records, as `core/decide.ts` and `core/transition.ts` say them, with what the work
 * around records adds: letters and history go with them.
 *
 * @module
 */

import { decide } from '../../../src/core/decide.ts'
import { isExpired, isFinished, type KeyRecord, statusOf } from '../../../src/core/record.ts'
import {
  advanced,
  claimed,
  finished,
  finishedBy,
  holds,
  renewed,
  suspended,
} from '../../../src/core/transition.ts'
import type {
  Advance,
  Claim,
  ClaimRequest,
  ClaimResult,
  Finish,
  ListedRecord,
  ListQuery,
  OverQuota,
  RecordPage,
  ReleaseMode,
  StoreStats,
} from '../../../src/engine/store.ts'
import { granted, overQuota, refused } from '../../../src/stores/answer.ts'
import { buryRecord, withdrawLetter } from './letters.ts'
import { awaitRow, isFree, rowLock } from './session.ts'
import type { RecordRow, Tables } from './tables.ts'

/** The record that the claim holds; `undefined` when it was lost. */
export function held(tables: Tables, claim: Claim): RecordRow | undefined {
  const record = tables.records.get(claim.id)
  if (tables.has('fence-unchecked') && record?.response === null) return record
  return holds(record, claim) ? record : undefined
}

/** Takes the lease, or says what stands in the way. */
export function claim(tables: Tables, request: ClaimRequest): ClaimResult {
  const now = tables.now()
  const record = tables.records.get(request.id)
  const claimant = { ...request, fingerprints: request.fingerprintsAccepted }
  const decision = flawedDecision(tables, record) ?? decide(record, claimant, now)
  const isGranted = 'fence' in decision
  const isFresh = isGranted && decision.kind === 'execute' && decision.fresh
  const isHeldToQuota = isFresh || tables.has('quota-before-record')
  const over = isHeldToQuota ? refusedByQuota(tables, request) : undefined
  if (over !== undefined && !tables.has('refused-kept')) return over
  if (!isGranted) return refused(decision.kind, record, now)

  awaitRow(tables, request.id)
  if (record !== undefined && isFresh) {
    if (!isFinished(record) && !tables.has('abandoned-unburied')) {
      buryRecord(tables, record, { cause: 'abandoned', error: null, isUntold: true })
    }
    tables.attempts = tables.attempts.filter(({ recordId }) => recordId !== record.id)
  }
  const next = claimed(record, { fresh: request, grant: decision, now })
  const made = isFresh || record === undefined ? tables.number() : record.made
  const tried = isFresh ? { triedAt: null, tries: 0 } : { triedAt: now, tries: record?.tries ?? 0 }
  const countsUntil = isFresh ? untilWhen(request, now) : (record?.countsUntil ?? null)
  const kept = isFresh || record === undefined ? {} : leftOf(record)
  const row: RecordRow = { ...next, ...kept, ...tried, made, countsUntil }
  if (tables.has('fence-stands-still')) Object.assign(row, { fence: record?.fence ?? row.fence })
  const isAbandoned = record !== undefined && !isFinished(record)
  const writesFirst = request.writesFirst === true || tables.has('claim-unsynced')
  if (isFresh && writesFirst && !isAbandoned) tables.putUnsynced(row.id, row, 'claim')
  else tables.put(row.id, row, 'claim')
  if (over !== undefined) return over
  if (decision.kind === 'recover') withdrawLetter(tables, row, 'A later request took it up.')
  return granted({ ...decision, fence: row.fence }, row)
}

/** What only the table knows of a record that was left to other versions. */
function leftOf({ resumeAt, drivenFence, left }: RecordRow): Partial<RecordRow> {
  return {
    ...(resumeAt !== undefined && { resumeAt }),
    ...(drivenFence !== undefined && { drivenFence }),
    ...(left !== undefined && { left }),
  }
}

type Counted = Pick<ClaimRequest, 'caller' | 'quota'>

/** The answer to a fresh key that is one too many; `undefined` when there is room. */
export function refusedByQuota(tables: Tables, { caller, quota }: Counted): OverQuota | undefined {
  if (quota === undefined || tables.has('quota-unchecked')) return undefined
  const now = tables.now()
  const untils = [...tables.records.values()].flatMap((row) =>
    row.caller === caller && row.countsUntil !== null && row.countsUntil > now
      ? [row.countsUntil]
      : [],
  )
  return overQuota(untils, quota, now)
}

/** Until when a record that is made now counts. */
export function untilWhen({ quota }: Counted, now: number): number | null {
  return quota === undefined ? null : now + quota.perMs
}

/** What a store with a planted bug decides; `undefined` where it decides as it should. */
function flawedDecision(tables: Tables, record: RecordRow | undefined) {
  if (record === undefined || isExpired(record, tables.now())) return undefined
  if (tables.has('lease-ignored') && !isFinished(record)) {
    return { kind: 'resume', fence: record.fence + 1 } as const
  }
  if (tables.has('mismatch-ignored') && isFinished(record)) return { kind: 'replay' } as const
  return undefined
}

/** Extends the lease. */
export function renew(tables: Tables, claim: Claim, leaseMs: number): boolean {
  return write(tables, claim, {
    verb: 'renew',
    move: (record, now) => renewed(record, tables.has('renewal-lost') ? 0 : leaseMs, now),
  })
}

/** Moves the recovery point. */
export function advance(tables: Tables, claim: Claim, step: Advance): boolean {
  const move = (record: RecordRow, now: number) => advanced(record, step, now)
  return write(tables, claim, { verb: 'advance', move })
}

/** Stores the answer. */
export function finish(tables: Tables, claim: Claim, end: Finish): boolean {
  if (finishedBy(tables.records.get(claim.id), claim)) return true
  if (tables.has('finish-unwritten')) return true
  const isWritten = write(tables, claim, {
    verb: 'finish',
    move: (record, now) => finished(record, end, now),
  })
  if (isWritten) cameBack(tables, claim.id)
  return isWritten
}

/** An operator takes the lease away from whoever has it, as the desk of a store does. */
export function freeByHand(tables: Tables, id: string): void {
  const record = tables.records.get(id)
  if (record === undefined) return
  const freed = { ...record, fence: record.fence + 1, owner: null, leaseUntil: null }
  tables.put(id, freed, 'release')
  tables.wake(id)
}

/** A run that was taken for dead, and put before a person, has finished after all. */
export function cameBack(tables: Tables, id: string): void {
  const record = tables.records.get(id)
  if (record !== undefined) withdrawLetter(tables, record, 'It finished after all.')
  tables.wake(id)
}

/** Gives the lease up. */
export function release(tables: Tables, claim: Claim, mode: ReleaseMode): boolean {
  const record = held(tables, claim)
  if (record === undefined) return false
  awaitRow(tables, claim.id)
  const isForgotten = mode === 'forget' || tables.has('forget-on-throw')
  tables.put(claim.id, isForgotten ? undefined : { ...record, ...suspended(record) }, mode)
  tables.wake(claim.id)
  return true
}

/** The record as it stands. */
export function find(tables: Tables, id: string): ListedRecord | undefined {
  const record = tables.records.get(id)
  return record && { record: bare(record), status: statusOf(record, tables.now()) }
}

/** One page of records, by id. */
export function list(tables: Tables, query: ListQuery): RecordPage {
  const { status, caller, operation, limit, after } = query
  const ids = [...tables.records.keys()].sort().filter((id) => after === undefined || id > after)
  const page = ids.slice(0, limit)
  const records = page
    .flatMap((id) => find(tables, id) ?? [])
    .filter(
      (listed) =>
        (status ?? listed.status) === listed.status &&
        (caller ?? listed.record.caller) === listed.record.caller &&
        (operation ?? listed.record.operation) === listed.record.operation,
    )
  return { records, next: ids.length > limit ? (page.at(-1) ?? null) : null }
}

/** Deletes finished records past their retention, the longest past first. */
export function sweep(tables: Tables, limit: number): number {
  const now = tables.now()
  const isSwept = (record: RecordRow) =>
    (isFinished(record) || tables.has('sweep-unfinished')) &&
    (isExpired(record, now) || tables.has('sweep-early'))
  const past = [...tables.records.values()]
    .filter((record) => isSwept(record) && isFree(tables, rowLock(record.id)))
    .sort((one, other) => one.expiresAt - other.expiresAt)
    .slice(0, limit)
  for (const { id } of past) {
    tables.put(id, undefined, 'sweep')
    tables.attempts = tables.attempts.filter(({ recordId }) => recordId !== id)
  }
  return past.length
}

/** Counts what is unfinished. */
export function stats(tables: Tables): StoreStats {
  const counts = { running: 0, suspended: 0, unknown: 0 }
  for (const record of tables.records.values()) {
    const status = statusOf(record, tables.now())
    if (status === 'running' || status === 'suspended' || status === 'unknown') counts[status]++
  }
  return counts
}

interface Writing {
  readonly verb: string
  readonly move: (record: RecordRow, now: number) => Partial<RecordRow>
}

function write(tables: Tables, claim: Claim, { verb, move }: Writing): boolean {
  const record = held(tables, claim)
  if (record === undefined) return false
  awaitRow(tables, claim.id)
  tables.put(claim.id, { ...record, ...move(record, tables.now()) }, verb)
  return true
}

/** The record without what only the table knows. */
function bare(row: RecordRow): KeyRecord {
  const { made: _made, triedAt: _triedAt, tries: _tries, countsUntil: _until, ...rest } = row
  const { resumeAt: _resumeAt, drivenFence: _drivenFence, left: _left, ...record } = rest
  return record
}
