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
import type { ClaimRequest, ClaimResult, ListedRecord } from '../../engine/store.ts'
import type { Argument, Reply } from './client.ts'
import { compact, expand, pack } from './compact.ts'

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
export function bytes(value: Uint8Array): Buffer {
  return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
}

/**
 * The arguments of the script for a claim. What is bytes goes as one: drivers send each apart.
 *
 * @param quotaSet - where the record counts; `null` without a quota
 */
export function claimArguments(
  request: ClaimRequest,
  quotaSet: string | null,
): readonly Argument[] {
  const { owner, leaseMs, retentionMs, takesUnknown, fingerprintsAccepted } = request
  const { caller, operation, key, origin, recoveryPoint, input } = request
  const { requestId, ip, userAgent } = origin
  const about = pack([caller, operation, key, requestId, ip, userAgent].map(compact))
  const fingerprints = [request.fingerprint, ...fingerprintsAccepted].map(compact)
  return [
    pack([compact(owner), about, ...fingerprints]),
    duration(leaseMs),
    duration(retentionMs),
    takesUnknown ? '1' : '0',
    ...fields({ recoveryPoint, input, quota: quotaSet }),
  ]
}

/** What the scripts count by. */
export function quotaArguments({ keys, perMs }: Quota, id: string): readonly Argument[] {
  return [String(keys), duration(perMs), compact(id)]
}

/** A resource as it is kept. */
export function packResource({ type, id }: Resource): string {
  return JSON.stringify([type, id])
}

/** The answer to a claim, from the reply of the script. */
export function parseClaim(reply: Reply, request: ClaimRequest): ClaimResult {
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
      throw new TypeError('Redis replied something else than an outcome.')
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

function granted(
  outcome: 'execute' | 'resume' | 'recover',
  rest: readonly Reply[],
  request: ClaimRequest,
): ClaimResult {
  const [fence, abandoned, recoveryPoint, state, input] = rest
  const claim = { id: request.id, owner: request.owner, fence: Number(fence) }
  const isFresh = rest.length === 2
  return {
    outcome,
    claim,
    // What is fresh is as it was asked for, and not sent back.
    recoveryPoint: isFresh ? request.recoveryPoint : text(recoveryPoint),
    state: copy(state),
    input: isFresh ? request.input : copy(input),
    abandoned: Number(abandoned) === 1,
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
  if (!Array.isArray(reply)) throw new TypeError('Redis replied something else than a list.')
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
  return Buffer.isBuffer(reply) ? new Uint8Array(reply) : null
}
