/**
 * Answers in a form in which those of two stores can be compared: bytes as text, durations in whole
 * ticks, instants by their distance from the creation of the record.
 *
 * @module
 */

import type { Claim, ClaimResult, ListedRecord } from '../../src/engine/store.ts'

/** The unit of time in a history: so long that real time never makes another tick of it. */
export const TICK_MS = 3_600_000

/** An answer with members; `claim` is there if a lease was granted. */
export interface PlainAnswer {
  readonly claim?: Claim
  readonly [name: string]: unknown
}

export type Answer = PlainAnswer | readonly PlainAnswer[] | number | boolean | null

export function answerOfClaim(result: ClaimResult): PlainAnswer {
  switch (result.outcome) {
    case 'replay': {
      const { outcome, response, resource, owner, requestId, expiresInMs } = result
      return {
        ...{ outcome, status: response.status, sealed: hex(response.sealed), owner, requestId },
        ...{ resource: resource && { ...resource }, expiresIn: inTicks(expiresInMs) },
      }
    }
    case 'in_progress': {
      const { outcome, leaseLeftMs, ageMs } = result
      return { outcome, leaseLeft: inTicks(leaseLeftMs), age: inTicks(ageMs) }
    }
    case 'over_quota':
      return { outcome: result.outcome, roomIn: inTicks(result.roomInMs) }
    case 'mismatch':
    case 'unknown':
      return { outcome: result.outcome }
    default: {
      const { outcome, claim, recoveryPoint, state, input, abandoned } = result
      return {
        ...{ outcome, claim: { ...claim }, recoveryPoint, abandoned },
        ...{ state: hex(state), input: hex(input) },
      }
    }
  }
}

export function answerOfFind(found: ListedRecord | undefined): PlainAnswer | null {
  return found === undefined ? null : plainRecord(found)
}

export function answerOfList(listed: readonly ListedRecord[]): readonly PlainAnswer[] {
  const byId = (one: ListedRecord, other: ListedRecord) =>
    one.record.id < other.record.id ? -1 : 1
  return [...listed].sort(byId).map(plainRecord)
}

function plainRecord({ record, status }: ListedRecord): PlainAnswer {
  const { input, state, response, resource, origin, createdAt, ...rest } = record
  const since = (instant: number | null) => (instant === null ? null : inTicks(instant - createdAt))
  return {
    ...rest,
    status,
    ...{ input: hex(input), state: hex(state), origin: { ...origin } },
    response: response && { status: response.status, sealed: hex(response.sealed) },
    resource: resource && { ...resource },
    leaseUntil: since(record.leaseUntil),
    finishedAt: since(record.finishedAt),
    expiresAt: since(record.expiresAt),
  }
}

function inTicks(ms: number | null): number | null {
  // Adding 0 makes no difference between 0 and -0.
  return ms === null ? null : Math.round(ms / TICK_MS) + 0
}

function hex(payload: Uint8Array | null): string | null {
  return payload && Buffer.from(payload).toString('hex')
}
