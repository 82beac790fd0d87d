/**
 * The moves of a record, pure: given the record and the store's time, the record after the verb, or
 * the refusal. Together with `decide` this is the model that every store equals.
 *
 * @module
 */

import type { Decision } from './decide.ts'
import type { KeyRecord, Origin, RecordIdentity, Resource, SealedResponse } from './record.ts'

/** Who acts: the holder of a lease. */
export interface Holder {
  readonly owner: string
  readonly fence: number
}

/** What a fresh record is made from. */
export interface Fresh extends RecordIdentity {
  readonly fingerprint: string
  readonly owner: string
  readonly leaseMs: number
  readonly retentionMs: number
  readonly recoveryPoint: string | null
  readonly input: Uint8Array | null
  readonly origin: Origin
}

/** A decision that takes the lease. */
export type Grant = Extract<Decision, { fence: number }>

/** The record after a granted claim. */
export function claimed(
  record: KeyRecord | undefined,
  { fresh, grant, now }: { fresh: Fresh; grant: Grant; now: number },
): KeyRecord {
  const leaseUntil = now + fresh.leaseMs
  // What this run leaves unfinished is kept for the retention from here, whoever began it.
  const keptUntil = Math.max(now + fresh.retentionMs, leaseUntil)
  if (record !== undefined && !(grant.kind === 'execute' && grant.fresh)) {
    return {
      ...record,
      fence: grant.fence,
      owner: fresh.owner,
      leaseUntil,
      expiresAt: Math.max(record.expiresAt, keptUntil),
    }
  }

  const { id, caller, operation, key, fingerprint, owner, recoveryPoint, input, origin } = fresh
  return {
    id,
    caller,
    operation,
    key,
    fingerprint,
    owner,
    recoveryPoint,
    input,
    origin,
    leaseUntil,
    fence: grant.fence,
    state: null,
    response: null,
    resource: null,
    finishedAt: null,
    createdAt: now,
    expiresAt: keptUntil,
  }
}

/** Whether the holder may still write: the record is there, unfinished, and under its fence. */
export function holds(record: KeyRecord | undefined, holder: Holder): record is KeyRecord {
  return record !== undefined && record.response === null && isHolder(record, holder)
}

/** The record with its lease extended, and its retention at least as far. */
export function renewed(record: KeyRecord, leaseMs: number, now: number): KeyRecord {
  const leaseUntil = now + leaseMs
  return { ...record, leaseUntil, expiresAt: Math.max(record.expiresAt, leaseUntil) }
}

/** The record at its next recovery point. */
export function advanced(
  record: KeyRecord,
  step: { recoveryPoint: string | null; state: Uint8Array | null; leaseMs: number },
  now: number,
): KeyRecord {
  const { recoveryPoint, state } = step
  return { ...renewed(record, step.leaseMs, now), recoveryPoint, state }
}

/** The record with its answer. Input and state served their purpose and go. */
export function finished(
  record: KeyRecord,
  end: { response: SealedResponse; resource: Resource | null; retentionMs: number },
  now: number,
): KeyRecord {
  const { response, resource, retentionMs } = end
  const { id, caller, operation, key, fingerprint, owner, fence, recoveryPoint } = record
  return {
    id,
    caller,
    operation,
    key,
    fingerprint,
    owner,
    fence,
    recoveryPoint,
    origin: record.origin,
    createdAt: record.createdAt,
    response,
    resource,
    leaseUntil: null,
    input: null,
    state: null,
    finishedAt: now,
    expiresAt: now + retentionMs,
  }
}

/** The record after its holder stopped half way. */
export function suspended(record: KeyRecord): KeyRecord {
  return { ...record, owner: null, leaseUntil: null }
}

/** Whether it was this holder that finished the record: its repeated finish is no conflict. */
export function finishedBy(record: KeyRecord | undefined, holder: Holder): boolean {
  return record !== undefined && record.response !== null && isHolder(record, holder)
}

function isHolder(record: KeyRecord, holder: Holder): boolean {
  return record.owner === holder.owner && record.fence === holder.fence
}
