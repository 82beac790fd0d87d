/**
 * Rows of the database as operators see them.
 *
 * @module
 */

import type {
  DeskAuditEntry,
  DeskJob,
  DeskNote,
  DeskRow,
  DeskState,
  NoteResult,
} from '../../../engine/desk.ts'
import { unpack } from '../record.ts'

/** What the walks select of a record, in the order of the columns. */
type SeenRow = readonly [
  id: Uint8Array,
  caller: string,
  operation: string,
  key: string,
  fingerprint: Uint8Array,
  fence: number,
  owner: Uint8Array | null,
  leaseUntil: number | null,
  recoveryPoint: string | null,
  status: number | null,
  resourceType: string | null,
  resourceId: string | null,
  requestId: string | null,
  ip: string | null,
  userAgent: string | null,
  createdAt: number,
  finishedAt: number | null,
  expiresAt: number,
  triedAt: number | null,
  tries: number,
  resumeAt: number | null,
  duplicates: number,
  letter: string | null,
  state: DeskState,
  now: number,
]

/** A request. */
export function toDeskRow(row: readonly unknown[]): DeskRow {
  // The statements select exactly these columns.
  const columns = row as SeenRow
  const [id, caller, operation, key, fingerprint, fence, owner, leaseUntil, ...rest] = columns
  const [recoveryPoint, status, resourceType, resourceId, requestId, ip, userAgent, ...last] = rest
  const [createdAt, finishedAt, expiresAt, triedAt, tries, resumeAt, duplicates, ...end] = last
  const [letter, state, now] = end
  const hasResource = resourceType !== null && resourceId !== null
  return {
    ...{ id: unpack(id), caller, operation, key, fingerprint: unpack(fingerprint), fence },
    ...{ owner: owner && unpack(owner), leaseUntil, recoveryPoint, status },
    resource: hasResource ? { type: resourceType, id: resourceId } : null,
    ...{ origin: { requestId, ip, userAgent }, createdAt, finishedAt, expiresAt, triedAt, tries },
    ...{ resumeAt, duplicates, letter, state, now },
  }
}

type NoteRow = readonly [
  id: Uint8Array,
  operation: string,
  at: number,
  result: NoteResult,
  requestId: string | null,
  ip: string | null,
  userAgent: string | null,
  fingerprint: string | null,
]

/** A duplicate. */
export function toNote(row: readonly unknown[]): DeskNote {
  // The statements select exactly these columns.
  const [id, operation, at, result, requestId, ip, userAgent, fingerprint] = row as NoteRow
  return { id: unpack(id), operation, at, result, requestId, ip, userAgent, fingerprint }
}

type JobRow = readonly [
  jobId: string,
  id: Uint8Array | null,
  name: string,
  state: DeskJob['state'],
  attempts: number,
  stagedAt: number,
  runAt: number | null,
  lastError: string | null,
]

/** A staged job. */
export function toDeskJob(row: readonly unknown[]): DeskJob {
  // The statements select exactly these columns.
  const [jobId, id, name, state, attempts, stagedAt, runAt, lastError] = row as unknown as JobRow
  return { jobId, id: id && unpack(id), name, state, attempts, stagedAt, runAt, lastError }
}

type AuditRow = readonly [
  at: number,
  author: string,
  action: string,
  subject: string,
  note: string,
  result: string,
  text: string,
  ip: string | null,
]

/** A line of the audit. */
export function toAuditEntry(number: string, row: readonly unknown[]): DeskAuditEntry {
  // The statement selects exactly these columns.
  const [at, author, action, subject, note, result, text, ip] = row as unknown as AuditRow
  return { number, at, author, action, subject, note, result, text, ip }
}
