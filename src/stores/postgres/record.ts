/**
 * Rows of the database as records and answers.
 *
 * @module
 */

import type { RecordStatus, Resource, SealedResponse } from '../../core/record.ts'
import type { Claim, ClaimRequest, ClaimResult, ListedRecord, Refusal } from '../../engine/store.ts'
import type { Value } from './client.ts'

/** Bytes of a random token and of a digest, which is what ids and owners are. */
const PACKED_BYTES: readonly number[] = [16, 32]

/** The text of such a digest or token; its last character holds fewer bits than the others. */
const PACKABLE = /^(?:[\w-]{42}[AEIMQUYcgkosw048]|[\w-]{21}[AQgw])$/

/** Characters of a digest. */
const DIGEST_LENGTH = 43

/** Put before anything else, so that it can never have one of those lengths. */
const MARK: Uint8Array = Buffer.alloc(33)

/** What fingerprints without a secret begin with. */
const UNKEYED = '1.'
/** The byte that stands for it. */
export const UNKEYED_BYTE = 1
const UNKEYED_MARK: Uint8Array = Uint8Array.of(UNKEYED_BYTE)

/** Bytes of such a fingerprint: no other text has as many and begins with that byte. */
const UNKEYED_BYTES = 33

/** A digest or token as its bytes, which take a quarter less than the text. */
export function pack(text: string): Uint8Array {
  if (PACKABLE.test(text)) return Buffer.from(text, 'base64url')
  const digits = text.startsWith(UNKEYED) ? text.slice(UNKEYED.length) : ''
  if (digits.length === DIGEST_LENGTH && PACKABLE.test(digits)) {
    return Buffer.concat([UNKEYED_MARK, Buffer.from(digits, 'base64url')])
  }
  return Buffer.concat([MARK, Buffer.from(text)])
}

/** The inverse of {@link pack}. */
export function unpack(packed: Uint8Array): string {
  const bytes = Buffer.from(packed)
  if (PACKED_BYTES.includes(bytes.length)) return bytes.toString('base64url')
  if (bytes.length === UNKEYED_BYTES && bytes[0] === UNKEYED_BYTE) {
    return UNKEYED + bytes.toString('base64url', 1)
  }
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

/** What `claim` answers, in the order of the columns. */
type ClaimRow = readonly [
  /** Which grant it is, or what stands in the way. */
  told: string,
  isFresh: boolean | null,
  fence: number | null,
  abandoned: boolean | null,
  recoveryPoint: string | null,
  state: Uint8Array | null,
  input: Uint8Array | null,
]

/** What stands in the way, as the function `told` of the database puts it. */
type Told = readonly [
  outcome: Refusal['outcome'],
  status: number | null,
  resourceType: string | null,
  resourceId: string | null,
  owner: string | null,
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
  // The statement selects exactly these columns; the contract tests hold both together.
  const columns = answered(row) as ClaimRow
  const [told, isFresh, fence, abandoned, recoveryPoint, state, input] = columns
  if (told !== 'execute' && told !== 'resume' && told !== 'recover') return toRefusal(told)
  if (fence === null) throw new TypeError('A grant without a fence.')

  const claim = { id: asked.id, owner: asked.owner, fence }
  // A fresh record holds what was asked for, so the database does not send it back.
  const work = isFresh
    ? { recoveryPoint: asked.recoveryPoint, state, input: asked.input }
    : { recoveryPoint, state, input }
  return { outcome: told, claim, ...work, abandoned: abandoned === true }
}

/** What is told before a transaction and at its beginning: how to run, or what stands in the way. */
export function toLook(row: readonly unknown[] | undefined): Look | Refusal {
  const [told] = answered(row)
  if (told === 'fresh') return FRESH
  if (told === 'execute' || told === 'recover') return { outcome: told, isFresh: false }
  return toRefusal(String(told))
}

/** Nothing stands in the way. */
export interface Look {
  readonly outcome: 'execute' | 'recover'
  /** Whether there is no record at all. */
  readonly isFresh: boolean
}

const FRESH: Look = { outcome: 'execute', isFresh: true }

function toRefusal(told: string): Refusal {
  const end = told.indexOf('\n')
  if (end === -1) throw new TypeError(`The database answered ${told}.`)
  // Made by that function.
  const parts = JSON.parse(told.slice(0, end)) as Told
  const [outcome, status, type, id, owner, requestId, leftMs, ageMs] = parts
  if (outcome === 'in_progress') return { outcome, leaseLeftMs: leftMs, ageMs }
  if (outcome === 'over_quota') return { outcome, roomInMs: leftMs ?? 0 }
  if (outcome !== 'replay') return { outcome }
  if (status === null || leftMs === null) throw new TypeError('A replay without an answer.')
  return {
    outcome,
    response: { status, sealed: Buffer.from(told.slice(end + 1), 'hex') },
    resource: toResource(type, id),
    requestId,
    expiresInMs: leftMs,
    owner: owner === null ? null : unpack(Buffer.from(owner, 'hex')),
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

function answered(row: readonly unknown[] | undefined): readonly unknown[] {
  if (row === undefined) throw new TypeError('The database gave no answer.')
  return row
}

function toResponse(status: number | null, sealed: Uint8Array | null): SealedResponse | null {
  return status === null || sealed === null ? null : { status, sealed }
}

function toResource(type: string | null, id: string | null): Resource | null {
  return type === null || id === null ? null : { type, id }
}
