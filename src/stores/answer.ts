/**
 * Answers of a store to a claim, made from a decision and a record.
 *
 * @module
 */

import type { Decision } from '../core/decide.ts'
import { type Quota, roomInMs } from '../core/quota.ts'
import { isFinished, type KeyRecord } from '../core/record.ts'
import type { Grant } from '../core/transition.ts'
import type { Granted, OverQuota, Refusal } from '../engine/store.ts'

/** The answer to a granted claim; `record` is the record after it. */
export function granted(grant: Grant, record: KeyRecord): Granted {
  return {
    outcome: grant.kind,
    claim: { id: record.id, owner: record.owner ?? '', fence: record.fence },
    recoveryPoint: record.recoveryPoint,
    state: record.state,
    input: record.input,
    abandoned: grant.kind === 'execute' && grant.abandoned,
  }
}

/** The answer to a refused claim; `record` is what stands in its way. */
export function refused(
  kind: Exclude<Decision['kind'], Grant['kind']>,
  record: KeyRecord | undefined,
  now: number,
): Refusal {
  if (record === undefined) throw new TypeError(`No record to refuse with ${kind}.`)
  switch (kind) {
    case 'replay':
      return replay(record, now)
    case 'in_progress':
      return {
        outcome: kind,
        leaseLeftMs: record.leaseUntil === null ? null : record.leaseUntil - now,
        ageMs: now - record.createdAt,
      }
    case 'mismatch':
    case 'unknown':
      return { outcome: kind }
  }
}

/** The answer to a claim that would make one record too many; `undefined` when there is room. */
export function overQuota(
  counted: readonly number[],
  quota: Quota,
  now: number,
): OverQuota | undefined {
  const ms = roomInMs(counted, quota, now)
  return ms > 0 ? { outcome: 'over_quota', roomInMs: ms } : undefined
}

function replay(record: KeyRecord, now: number): Refusal {
  if (!isFinished(record)) throw new TypeError('Only a finished record can be replayed.')
  const { response, resource, owner } = record
  const { requestId } = record.origin
  const expiresInMs = record.expiresAt - now
  return { outcome: 'replay', response, resource, owner, requestId, expiresInMs }
}
