/**
 * The protocol: what to do with a request, given the record that stands for it.
 *
 * Pure and total. The memory and SQLite stores call it; the SQL of PostgreSQL and the Lua of Redis
 * say the same in their own language, and a differential test holds them to it.
 *
 * @module
 */

import { isExpired, isFinished, isLeaseLive, type KeyRecord } from './record.ts'

/** What of a request the decision depends on. */
export interface Claimant {
  /**
   * Every fingerprint that the request has under the configured secrets, the current one first.
   * More than one only while a secret is being rotated.
   */
  readonly fingerprints: readonly string[]
  /** Token of this run. A claim that is sent again is recognised by it. */
  readonly owner: string
  /** Whether the claimant takes over a record whose outcome is unknown (`afterCrash`). */
  readonly takesUnknown: boolean
}

/**
 * - `execute`: run from the start. `fresh` says that nothing stands for the identity and a record is
 *   to be made under fence 1 (otherwise the claimant's own claim came twice); `abandoned`, that the
 *   fresh record replaces an unfinished one that is past its retention.
 * - `resume`: run on from the recovery point, under the given fence.
 * - `recover`: the outcome of an earlier run is unknown and the claimant takes it on.
 * - `unknown`: the same, but the claimant does not take it on.
 * - `replay`, `in_progress`, `mismatch`: refusals; they never change the record.
 */
export type Decision =
  | {
      readonly kind: 'execute'
      readonly fence: number
      readonly fresh: boolean
      readonly abandoned: boolean
    }
  | { readonly kind: 'resume'; readonly fence: number }
  | { readonly kind: 'recover'; readonly fence: number }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'replay' }
  | { readonly kind: 'in_progress' }
  | { readonly kind: 'mismatch' }

/** Decides by the table of `docs/protocol.md`, from top to bottom. */
export function decide(record: KeyRecord | undefined, claimant: Claimant, now: number): Decision {
  if (record === undefined) return execute(false)
  if (isExpired(record, now)) return execute(!isFinished(record))
  if (!claimant.fingerprints.includes(record.fingerprint)) return { kind: 'mismatch' }
  if (isFinished(record)) return { kind: 'replay' }
  if (record.owner === claimant.owner) return regrant(record)
  if (isLeaseLive(record, now)) return { kind: 'in_progress' }
  if (record.recoveryPoint !== null) return { kind: 'resume', fence: record.fence + 1 }
  if (claimant.takesUnknown) return { kind: 'recover', fence: record.fence + 1 }
  return { kind: 'unknown' }
}

/** Whether a record is made, so that a key counts towards the quota of its caller. */
export function isFresh(decision: Decision): boolean {
  return decision.kind === 'execute' && decision.fresh
}

function execute(abandoned: boolean): Decision {
  return { kind: 'execute', fence: 1, fresh: true, abandoned }
}

/** The answer to a claim that had already succeeded when its reply was lost: the same grant. */
function regrant(record: KeyRecord): Decision {
  const { fence } = record
  if (fence === 1) return { kind: 'execute', fence, fresh: false, abandoned: false }
  return record.recoveryPoint === null ? { kind: 'recover', fence } : { kind: 'resume', fence }
}
