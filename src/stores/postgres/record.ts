/**
 * Rows of the database as records and answers.
 *
 * @module
 */

import type { RecordStatus, Resource, SealedResponse } from '../../core/record.ts'
import type { Claim, ClaimRequest, ClaimResult, ListedRecord, Refusal } from '../../engine/store.ts'
import type { Value } from './client.ts'

/** Bytes of a random token and of a digest, which is what ids, fingerprints and owners are. */
const PACKED_BYTES: readonly number[] = [16, 32]

/** Put before anything else, so that it can never have one of those lengths. */
const MARK: Uint8Array = Buffer.alloc(33)

/** A digest or token as its bytes, which take a quarter less than the text. */
export function pack(text: string): Uint8Array {
  const bytes = Buffer.from(text, 'base64url')
  const isPacked = PACKED_BYTES.includes(bytes.length) && bytes.toString('base64url') === text
  return isPacked ? bytes : Buffer.concat([MARK, Buffer.from(text)])
}

/** The inverse of {@link pack}. */
export function unpack(packed: Uint8Array): string {
  const bytes = Buffer.from(packed)
  if (PACKED_BYTES.includes(bytes.length)) return bytes.toString('base64url')
  return bytes.subarray(MARK.length).toString()
}

/** Fingerprints as the functions of the database compare them: hex, with commas between. */
export function packAll(fingerprints: readonly string[]): string {
  return fingerprints.map((one) => Buffer.from(pack(one)).toString('hex')).join(',')
}

/** What names a claim, in the order that every statement takes it. */
export function holder({ id, owner, fence }: Claim): readonly Value[] {
  return [pack(id), pack(owner), fence]
}

/** What `claim` and `begin_transaction` answer, in the order of the columns. */
type AnswerRow = readonly [
  outcome: ClaimResult['outcome'],
  fence: number | null,
  isFresh: boolean | null,
  abandoned: boolean | null,
  recoveryPoint: string | null,
  state: Uint8Array | null,
  input: Uint8Array | null,
  status: number | null,
  response: Uint8Array | null,
  resourceType: string | null,
  resourceId: string | null,
  owner: Uint8Array | null,
  requestId: string | null,
  leftMs: number | null,
  ageMs: number | null,
]

/** What `find` and `list` select, in the order of the columns. */
type RecordRow = readonly [
  id: Uint8Array,
  caller: string,
  operation: string,
  key: string,
  fingerprint: Uint8Array,
  fence: number,
  owner: Uint8Array | null,
  leaseUntil: number | null,
  recoveryPoint: string | null,
  state: Uint8Array | null,
  input: Uint8Array | null,
  status: number | null,
  response: Uint8Array | null,
  resourceType: string | null,
  resourceId: string | null,
  requestId: string | null,
  ip: string | null,
  userAgent: string | null,
  createdAt: number,
  finishedAt: number | null,
  expiresAt: number,
  standing: RecordStatus,
]

/** The answer to a claim of `asked`. */
export function toClaimResult(
  row: readonly unknown[] | undefined,
  asked: Pick<ClaimRequest, 'id' | 'owner' | 'recoveryPoint' | 'input'>,
): ClaimResult {
  const [outcome, fence, isFresh, abandoned, recoveryPoint, state, input] = answerOf(row)
  if (outcome !== 'execute' && outcome !== 'resume' && outcome !== 'recover') return toRefusal(row)
  if (fence === null) throw new TypeError('A grant without a fence.')

  const claim = { id: asked.id, owner: asked.owner, fence }
  // A fresh record holds what was asked for, so the database does not send it back.
  const work = isFresh
    ? { recoveryPoint: asked.recoveryPoint, state, input: asked.input }
    : { recoveryPoint, state, input }
  return { outcome, claim, ...work, abandoned: abandoned === true }
}

/** What `look` and `begin_transaction` answer: how to run, or what stands in the way. */
export function toLook(row: readonly unknown[] | undefined): Look | Refusal {
  const [outcome, , isFresh] = answerOf(row)
  const isClear = outcome === 'execute' || outcome === 'recover'
  return isClear ? { outcome, isFresh: isFresh === true } : toRefusal(row)
}

/** Nothing stands in the way. */
export interface Look {
  readonly outcome: 'execute' | 'recover'
  /** Whether there is no record at all. */
  readonly isFresh: boolean
}

function toRefusal(row: readonly unknown[] | undefined): Refusal {
  const answer = answerOf(row)
  const [outcome, , , , , , , status, sealed, type, id, owner, requestId, leftMs, ageMs] = answer
  switch (outcome) {
    case 'replay': {
      const response = toResponse(status, sealed)
      if (response === null || leftMs === null) throw new TypeError('A replay without an answer.')
      const resource = toResource(type, id)
      const replay = { outcome, response, resource, requestId, expiresInMs: leftMs }
      return { ...replay, owner: owner && unpack(owner) }
    }
    case 'in_progress':
      return { outcome, leaseLeftMs: leftMs, ageMs }
    case 'mismatch':
    case 'unknown':
      return { outcome }
    default:
      throw new TypeError(`The database answered ${outcome}.`)
  }
}

/** The record of a row of `find` or `list`, with its standing. */
export function toListedRecord(row: readonly unknown[]): ListedRecord {
  // The statements select exactly these columns; the contract tests hold both together.
  const columns = row as RecordRow
  const [id, caller, operation, key, fingerprint, fence, owner, leaseUntil, ...rest] = columns
  const [recoveryPoint, state, input, status, sealed, resourceType, resourceId, ...last] = rest
  const [requestId, ip, userAgent, createdAt, finishedAt, expiresAt, standing] = last
  return {
    status: standing,
    record: {
      id: unpack(id),
      caller,
      operation,
      key,
      fingerprint: unpack(fingerprint),
      fence,
      owner: owner && unpack(owner),
      leaseUntil,
      recoveryPoint,
      state,
      input,
      response: toResponse(status, sealed),
      resource: toResource(resourceType, resourceId),
      origin: { requestId, ip, userAgent },
      createdAt,
      finishedAt,
      expiresAt,
    },
  }
}

function answerOf(row: readonly unknown[] | undefined): AnswerRow {
  if (row === undefined) throw new TypeError('The database gave no answer.')
  // The statements select exactly these columns; the contract tests hold both together.
  return row as AnswerRow
}

function toResponse(status: number | null, sealed: Uint8Array | null): SealedResponse | null {
  return status === null || sealed === null ? null : { status, sealed }
}

function toResource(type: string | null, id: string | null): Resource | null {
  return type === null || id === null ? null : { type, id }
}
