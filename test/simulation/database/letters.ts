/**
 * Dead letters and history, as migration 4 says them.
 *
 * @module
 */

import {
  BURIED_MS,
  type Burial,
  type DeadLetter,
  type HistoryEntry,
  type LetterQuery,
  type Settlement,
  type UnknownBurial,
} from '../../../src/engine/letters.ts'
import type { Claim } from '../../../src/engine/store.ts'
import { held } from './records.ts'
import { awaitRow, isFree, rowLock } from './session.ts'
import type { LetterRow, RecordRow, Tables } from './tables.ts'

/** What was tried on this making of a record; on all of them unless told which. */
export function historyOf(tables: Tables, id: string, making?: number): readonly HistoryEntry[] {
  return tables.attempts
    .filter(({ recordId, made }) => recordId === id && made === (making ?? made))
    .map(({ number: _number, recordId: _recordId, made: _made, ...entry }) => entry)
}

/** Of what nobody puts before a person by a claim, only the record says how long it is kept. */
type RecordBurial = Pick<Burial, 'cause' | 'error' | 'isUntold'> &
  Partial<Pick<Burial, 'retentionMs'>>

/**
 * Puts a record before a person, unless it lies there already. Of what was no operation of phases the
 * app need not be told.
 */
export function buryRecord(
  tables: Tables,
  record: RecordRow,
  { cause, error, isUntold = false, retentionMs: answerMs = 0 }: RecordBurial,
): void {
  const retentionMs = Math.max(answerMs, record.expiresAt - record.createdAt)
  const tellAfter = isUntold && record.input !== null ? tables.now() : null
  const there = tables.letters.find(
    ({ id, made, settledAt }) => id === record.id && made === record.made && settledAt === null,
  )
  if (there !== undefined) {
    const kept = Math.max(there.retentionMs, retentionMs)
    return replace(tables, {
      ...there,
      tellAfter: tellAfter ?? there.tellAfter,
      retentionMs: kept,
    })
  }
  const { id, caller, operation, key, fingerprint, fence, tries, input, state, origin } = record
  const letter: LetterRow = {
    ...{ letter: String(tables.number()), id, caller, operation, key, fingerprint, fence, tries },
    ...{ input, state, origin, cause, error, point: record.recoveryPoint, made: record.made },
    ...{ tellAfter, retentionMs },
    history: historyOf(tables, id, record.made),
    ...{ createdAt: record.createdAt, buriedAt: tables.now(), settledAt: null, settlement: null },
  }
  tables.letters.push(letter)
  tables.changed({ kind: 'buried', letter })
}

/** A run took the record up after all, or came back: nobody need look. */
export function withdrawLetter(tables: Tables, { id, made }: RecordRow, note: string): void {
  tables.letters = tables.letters.map((letter) => {
    if (letter.id !== id || letter.made !== made || letter.settledAt !== null) return letter
    const settlement = { way: 'withdrawn', author: 'reprise', note } as const
    const settled = { ...letter, settledAt: tables.now(), settlement }
    tables.changed({ kind: 'withdrawn', letter: settled })
    return settled
  })
}

/** Puts the record that the claim holds before a person. */
export function bury(tables: Tables, claim: Claim, burial: Burial): boolean {
  const record = held(tables, claim)
  if (record === undefined) return false
  awaitRow(tables, claim.id)
  if (!tables.has('letter-lost')) buryRecord(tables, record, burial)
  if (burial.cause === 'abandoned') {
    tables.put(claim.id, undefined, 'abandon')
    tables.attempts = tables.attempts.filter(({ recordId }) => recordId !== claim.id)
  } else {
    const recoveryPoint = tables.has('burial-resumable') ? record.recoveryPoint : null
    const kept = Math.max(record.expiresAt, tables.now() + Math.max(BURIED_MS, burial.retentionMs))
    const buried = { ...record, recoveryPoint, owner: null, leaseUntil: null, expiresAt: kept }
    tables.put(claim.id, buried, 'bury')
  }
  tables.wake(claim.id)
  return true
}

/** Puts records of unknown outcome before a person that nobody took up in time. */
export function buryUnknown(tables: Tables, burial: UnknownBurial): number {
  const now = tables.now()
  const isDue = (record: RecordRow) =>
    record.response === null &&
    record.recoveryPoint === null &&
    (record.leaseUntil ?? record.triedAt ?? record.createdAt) <= now - burial.graceMs &&
    record.expiresAt > now &&
    !tables.letters.some(({ made, settledAt }) => made === record.made && settledAt === null) &&
    isFree(tables, rowLock(record.id))
  const due = [...tables.records.values()].filter(isDue).slice(0, burial.limit)
  for (const record of due) {
    buryRecord(tables, record, { cause: 'outcome_unknown', error: null })
    const expiresAt = Math.max(record.expiresAt, now + burial.retentionMs)
    tables.put(record.id, { ...record, expiresAt }, 'bury unknown')
  }
  return due.length
}

/** Takes one letter of which the app is still to be told. */
export function takeUntold(
  tables: Tables,
  operations: readonly string[],
  leaseMs: number,
): DeadLetter | undefined {
  const now = tables.now()
  const letter = tables.letters.find(({ operation, tellAfter }) => {
    return tellAfter !== null && tellAfter <= now && operations.includes(operation)
  })
  if (letter === undefined) return undefined
  replace(tables, { ...letter, tellAfter: now + leaseMs })
  return bare(letter)
}

/** The app was told. */
export function told(tables: Tables, number: string, error: string | null): void {
  const letter = tables.letters.find((one) => one.letter === number)
  if (letter === undefined) return
  replace(tables, { ...letter, tellAfter: null, error: letter.error ?? error })
}

/** One letter. */
export function findLetter(tables: Tables, letter: string): DeadLetter | undefined {
  const found = tables.letters.find((one) => one.letter === letter)
  return found && bare(found)
}

/** Letters, the newest first. */
export function listLetters(
  tables: Tables,
  { limit, before, settled }: LetterQuery,
): readonly DeadLetter[] {
  return tables.letters
    .filter(({ letter }) => before === undefined || Number(letter) < Number(before))
    .filter(({ settledAt }) => settled === undefined || settled === (settledAt !== null))
    .sort((one, other) => Number(other.letter) - Number(one.letter))
    .slice(0, limit)
    .map(bare)
}

/** Settles a letter, once. */
export function settleLetter(tables: Tables, number: string, settlement: Settlement): boolean {
  const found = tables.letters.find(({ letter }) => letter === number)
  if (found === undefined) return false
  if (found.settledAt !== null && !tables.has('settled-twice')) return false
  awaitRow(tables, found.id)
  const { way, author, note } = settlement
  const now = tables.now()
  const record = tables.records.get(found.id)
  const isOwn = record?.response === null && record.made === found.made
  const isPast = record !== undefined && record.response !== null && record.expiresAt <= now
  const isInWay = record !== undefined && !isOwn && !isPast
  // What a later request has done with the key stays, and nothing is resumed over it.
  if (isInWay && way === 'resume' && found.point !== null) return false
  const settled = { settledAt: now, tellAfter: null, settlement: { way, author, note } }
  const letter: LetterRow = { ...found, ...settled }
  replace(tables, letter)
  tables.changed({ kind: 'settled', letter })
  if (isOwn || isPast) tables.put(letter.id, undefined, 'settle')
  endCalls(tables, letter)
  if ((way === 'resume' && letter.point === null) || isInWay) return true
  // What is made again after the record went is another making of it.
  const made = isOwn ? letter.made : tables.number()
  tables.put(letter.id, settledRecord(tables, { ...letter, made }, settlement), 'settle')
  tables.wake(letter.id)
  return true
}

/** A call that was never heard of again, or only denied, is settled with its letter. */
function endCalls(tables: Tables, letter: LetterRow): void {
  const isEnded = (one: (typeof tables.attempts)[number]) =>
    one.recordId === letter.id &&
    one.made === letter.made &&
    one.fence <= letter.fence &&
    (one.endedAt === null || one.ending === 'denied')
  tables.attempts = tables.attempts.map((one) =>
    isEnded(one) ? { ...one, endedAt: tables.now(), ending: 'settled' as const } : one,
  )
}

/** The record as the settlement leaves it. */
function settledRecord(
  tables: Tables,
  letter: LetterRow,
  { way, finish, retentionMs }: Settlement,
): RecordRow {
  const now = tables.now()
  const { id, caller, operation, key, fingerprint, origin, createdAt, made } = letter
  const isResumed = way === 'resume'
  const isLost = tables.has('settlement-loses-state')
  return {
    ...{ id, caller, operation, key, fingerprint, origin, createdAt, made },
    ...{ fence: letter.fence + 1, owner: null, leaseUntil: null, triedAt: null, tries: 0 },
    countsUntil: null,
    recoveryPoint: isResumed ? letter.point : null,
    state: isResumed && !isLost ? letter.state : null,
    input: isResumed ? letter.input : null,
    response: finish?.response ?? null,
    resource: finish?.resource ?? null,
    finishedAt: isResumed ? null : now,
    expiresAt: now + Math.max(retentionMs, tables.has('settlement-short') ? 0 : letter.retentionMs),
  }
}

/** Drops input and state of what is settled and whose record is gone. */
export function sweepLetters(tables: Tables, limit: number): number {
  const swept = tables.letters
    .filter(({ settledAt, input, tellAfter }) => {
      return settledAt !== null && input !== null && tellAfter === null
    })
    .filter(({ id, made }) => tables.records.get(id)?.made !== made)
    .slice(0, limit)
  for (const letter of swept) replace(tables, { ...letter, input: null, state: null })
  return swept.length
}

function replace(tables: Tables, letter: LetterRow): void {
  tables.letters = tables.letters.map((one) => (one.letter === letter.letter ? letter : one))
}

function bare(row: LetterRow): DeadLetter {
  const { made: _made, fingerprint: _fingerprint, tellAfter: _tellAfter, ...rest } = row
  const { retentionMs: _retentionMs, ...letter } = rest
  return letter
}
