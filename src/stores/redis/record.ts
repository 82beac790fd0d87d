/**
 * Between records and what the scripts of `queries.ts` take and give.
 *
 * @module
 */

import { callerDigest } from '../../core/identity.ts'
import type { Quota } from '../../core/quota.ts'
import {
  type KeyRecord,
  type Origin,
  type RecordIdentity,
  type Resource,
  statusOf,
} from '../../core/record.ts'
import type { Claim, ClaimRequest, ClaimResult, Finish, ListedRecord } from '../../engine/store.ts'
import { type Argument, type Reply, unexpected } from './client.ts'
import { compact, expand, Packer } from './compact.ts'

/** Names of the Redis keys that belong to records. */
export class KeyNames {
  readonly #prefix: string

  constructor(prefix: string) {
    this.#prefix = prefix
  }

  /** Holds the record, and is the channel of its messages. The braces bind it to one hash slot. */
  record(id: string): string {
    return `${this.#prefix}{${id}}`
  }

  /** Exists while somebody watches the record. */
  mark(id: string): string {
    return `${this.record(id)}:watched`
  }

  /** Holds what counts towards the quota of the caller, whose name is nobody's business here. */
  quota(caller: string): string {
    return `${this.#prefix}{${callerDigest(caller)}}:quota`
  }

  /** The record that a key or a channel belongs to. */
  idOf(key: string): string {
    return key.slice(this.#prefix.length + 1, -1)
  }

  /** Matches the keys that hold records. */
  get pattern(): string {
    return `${this.#prefix.replace(/[\\*?[\]]/g, '\\$&')}{*}`
  }
}

/** A duration as an argument. Instants are whole milliseconds, and a lease is never cut short. */
export function duration(ms: number): string {
  return String(Math.ceil(ms))
}

/** Names and values of the fields that are not null. */
export function fields(values: Readonly<Record<string, string | Uint8Array | null>>): Argument[] {
  const args: Argument[] = []
  for (const [name, value] of Object.entries(values)) {
    if (value !== null) args.push(name, typeof value === 'string' ? value : bytes(value))
  }
  return args
}

/** Bytes as the drivers want them, not copied. */
function bytes(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

/** Everything is written to it at once and taken: the commands of all stores share it. */
const packer = new Packer()

/** What the script for a claim is told: one run of bytes, because drivers send each apart. */
export function packClaim(request: ClaimRequest): Buffer {
  const { owner, leaseMs, retentionMs, takesUnknown, fingerprint, fingerprintsAccepted } = request
  const { requestId, ip, userAgent } = request.origin
  packer.begin().number(Math.ceil(leaseMs)).number(Math.ceil(retentionMs)).flag(takesUnknown)
  packer.compact(owner)
  const about = packer.open()
  packer.compact(request.caller).compact(request.operation).compact(request.key)
  packer.compact(requestId).compact(ip).compact(userAgent)
  packer.close(about).compact(fingerprint)
  for (const accepted of fingerprintsAccepted) {
    if (accepted !== fingerprint) packer.compact(accepted)
  }
  return packer.take()
}

/**
 * Names and values of the further fields that a fresh record has.
 *
 * @param quotaSet - where the record counts; `null` without a quota
 */
export function claimFields(request: ClaimRequest, quotaSet: string | null): readonly Argument[] {
  const { recoveryPoint, input } = request
  if (recoveryPoint === null && input === null && quotaSet === null) return NONE
  return fields({ recoveryPoint, input, quota: quotaSet })
}

const NONE: readonly Argument[] = []

/** Longer answers are sent apart, rather than copied. */
const COPIED_BYTES_MAX = 16_384

/** What the script for a finish is told. */
export function packFinish(
  claim: Claim,
  finish: Finish,
): readonly [Buffer] | readonly [Buffer, Buffer] {
  const { response, resource, retentionMs } = finish
  packer.begin().compact(claim.owner).number(claim.fence).number(Math.ceil(retentionMs))
  packer.number(response.status)
  if (resource === null) packer.flag(false)
  else packer.raw(Buffer.from(packResource(resource)))
  const { sealed } = response
  if (sealed.byteLength > COPIED_BYTES_MAX) return [packer.take(), bytes(sealed)]
  return [packer.raw(sealed).take()]
}

/** What the scripts count by. */
export function quotaArguments({ keys, perMs }: Quota, id: string): readonly Argument[] {
  return [String(keys), duration(perMs), compact(id)]
}

/** A resource as it is kept. */
function packResource({ type, id }: Resource): string {
  return JSON.stringify([type, id])
}

/** The answer to a claim, from the reply of the script. */
export function parseClaim(reply: Reply, request: ClaimRequest): ClaimResult {
  // A driver may give numbers as texts.
  if (typeof reply === 'number' || typeof reply === 'string') return fresh(Number(reply), request)
  const [outcome, ...rest] = list(reply)
  switch (String(outcome)) {
    case 'execute':
      return granted('execute', rest, request)
    case 'resume':
      return granted('resume', rest, request)
    case 'recover':
      return granted('recover', rest, request)
    case 'replay':
      return replay(rest)
    case 'in_progress':
      return { outcome: 'in_progress', leaseLeftMs: Number(rest[0]), ageMs: Number(rest[1]) }
    case 'over_quota':
      return { outcome: 'over_quota', roomInMs: Number(rest[0]) }
    case 'mismatch':
      return { outcome: 'mismatch' }
    case 'unknown':
      return { outcome: 'unknown' }
    default:
      throw unexpected('an outcome')
  }
}

/** A record with its standing, from the reply of the script; `undefined` where there is none. */
export function parseRecord(id: string, reply: Reply): ListedRecord | undefined {
  if (reply === null) return undefined
  const [now, fence, fingerprint, owner, leaseUntil, recoveryPoint, ...rest] = list(reply)
  const [createdAt, finishedAt, expiresAt, about, state, input, status, sealed, resource] = rest
  const record: KeyRecord = {
    id,
    ...parseAbout(about),
    fingerprint: expanded(fingerprint) ?? '',
    fence: Number(fence),
    owner: expanded(owner),
    leaseUntil: instant(leaseUntil),
    recoveryPoint: text(recoveryPoint),
    state: copy(state),
    input: copy(input),
    response: response(status, sealed),
    resource: parseResource(resource),
    createdAt: Number(createdAt),
    finishedAt: instant(finishedAt),
    expiresAt: Number(expiresAt),
  }
  return { record, status: statusOf(record, Number(now)) }
}

/** What is fresh is as it was asked for, and not sent back. */
function fresh(reply: number, { id, owner, recoveryPoint, input }: ClaimRequest): ClaimResult {
  if (Number.isNaN(reply)) throw unexpected('an outcome')
  const claim = { id, owner, fence: 1 }
  return { outcome: 'execute', claim, recoveryPoint, state: null, input, abandoned: reply === 1 }
}

function granted(
  outcome: 'execute' | 'resume' | 'recover',
  [fence, recoveryPoint, state, input]: readonly Reply[],
  { id, owner }: ClaimRequest,
): ClaimResult {
  return {
    outcome,
    claim: { id, owner, fence: Number(fence) },
    recoveryPoint: text(recoveryPoint),
    state: copy(state),
    input: copy(input),
    abandoned: false,
  }
}

function replay([
  status,
  sealed,
  resource,
  owner,
  requestId,
  leftMs,
]: readonly Reply[]): ClaimResult {
  const answer = response(status, sealed)
  if (answer === null) throw new TypeError('Redis replied a replay without an answer.')
  return {
    outcome: 'replay',
    response: answer,
    resource: parseResource(resource),
    requestId: expanded(requestId),
    owner: expanded(owner),
    expiresInMs: Number(leftMs),
  }
}

function response(status: Reply | undefined, sealed: Reply | undefined): KeyRecord['response'] {
  const copied = copy(sealed)
  return copied === null ? null : { status: Number(status), sealed: copied }
}

function parseAbout(about: Reply | undefined): Omit<RecordIdentity, 'id'> & { origin: Origin } {
  const [caller, operation, key, requestId, ip, userAgent] = list(about).map(expanded)
  return {
    caller: caller ?? '',
    operation: operation ?? '',
    key: key ?? '',
    origin: { requestId: requestId ?? null, ip: ip ?? null, userAgent: userAgent ?? null },
  }
}

function parseResource(resource: Reply | undefined): Resource | null {
  if (resource === null || resource === undefined) return null
  const [type, id] = JSON.parse(String(resource))
  return { type, id }
}

function expanded(reply: Reply | undefined): string | null {
  return Buffer.isBuffer(reply) ? expand(reply) : null
}

function list(reply: Reply | undefined): readonly Reply[] {
  if (!Array.isArray(reply)) throw unexpected('a list')
  return reply
}

function text(reply: Reply | undefined): string | null {
  return reply === null || reply === undefined ? null : String(reply)
}

function instant(reply: Reply | undefined): number | null {
  return reply === null || reply === undefined ? null : Number(reply)
}

/** Copied, because the drivers give views into the chunks that they read from the network. */
function copy(reply: Reply | undefined): Uint8Array | null {
  if (!Buffer.isBuffer(reply)) return null
  // Not from the pool: an answer that is kept would keep all that lies beside it.
  const bytes = Buffer.allocUnsafeSlow(reply.length)
  reply.copy(bytes)
  return bytes
}
