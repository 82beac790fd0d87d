/**
 * The port that every store implements.
 *
 * A store keeps one record per identity and changes it by compare-and-set; what a record *means* is
 * said once, in `core/decide.ts` and `core/transition.ts`, and every store equals those. Durations
 * go in, never instants: the clock that decides is the one the rows live with.
 *
 * Every verb is atomic and safe to send again: a verb that took effect and whose reply was lost
 * answers the same when it is repeated by the same owner.
 *
 * @module
 */

import type { Quota } from '../core/quota.ts'
import type {
  KeyRecord,
  Origin,
  RecordIdentity,
  RecordStatus,
  Resource,
  SealedResponse,
} from '../core/record.ts'
import type { Desk } from './desk.ts'
import type { ReplayCaching } from './replay-cache.ts'
import type { Transactions } from './transactions.ts'
import type { Work } from './work.ts'

/** The right to work on a record. */
export interface Claim {
  readonly id: string
  /** Token of the run that holds the lease; unique for each run. */
  readonly owner: string
  /** Grows with each taking of the lease; a write under an older fence is refused. */
  readonly fence: number
}

/** The claim being asked for. */
export interface ClaimRequest extends RecordIdentity {
  /** Fingerprint to write on a fresh record. */
  readonly fingerprint: string
  /**
   * Every fingerprint that counts as the same request, `fingerprint` included. More than one only
   * while a secret is being rotated.
   */
  readonly fingerprintsAccepted: readonly string[]
  /** Token of this run, made by the caller, fresh for each run and kept over repeated claims. */
  readonly owner: string
  /** How long the lease holds without being renewed, in milliseconds. */
  readonly leaseMs: number
  /** How long an unfinished record is kept, in milliseconds. */
  readonly retentionMs: number
  /** Recovery point of a fresh record; `null` when a run that stops leaves the outcome unknown. */
  readonly recoveryPoint: string | null
  /** Whether to take over a record whose outcome is unknown. */
  readonly takesUnknown: boolean
  /** Sealed input to keep with a fresh record. */
  readonly input: Uint8Array | null
  /**
   * Whether the run writes under its claim before anything begins. A store need not wait for the disk
   * then: a crash that takes the claim leaves the key as free as it was.
   *
   * @default false
   */
  readonly writesFirst?: boolean | undefined
  readonly origin: Origin
  /**
   * How many fresh keys the caller may bring; without one, the record made here counts for none. With
   * a quota of no keys the claim takes up what is there and makes nothing: where there is nothing,
   * the answer is `over_quota`.
   */
  readonly quota?: Quota | undefined
}

/** The lease is the claimant's. */
export interface Granted {
  readonly outcome: 'execute' | 'resume' | 'recover'
  readonly claim: Claim
  readonly recoveryPoint: string | null
  readonly state: Uint8Array | null
  readonly input: Uint8Array | null
  /** Whether an unfinished record, past its retention, was replaced. */
  readonly abandoned: boolean
}

/** The answer is stored. */
export interface Replay {
  readonly outcome: 'replay'
  readonly response: SealedResponse
  readonly resource: Resource | null
  /** Id of the request that was answered first. */
  readonly requestId: string | null
  /** Owner token of the run that stored the answer. */
  readonly owner: string | null
  /** For how long the answer is still kept, in milliseconds. */
  readonly expiresInMs: number
}

/** Somebody else works on it. */
export interface InProgress {
  readonly outcome: 'in_progress'
  /** How long the lease still holds unless renewed, in milliseconds; `null` when not known. */
  readonly leaseLeftMs: number | null
  /** For how long the record has existed, in milliseconds; `null` when not known. */
  readonly ageMs: number | null
}

/** The key stands for another request. */
export interface Mismatch {
  readonly outcome: 'mismatch'
}

/** An earlier run stopped and nobody can say whether it took effect. */
export interface Unknown {
  readonly outcome: 'unknown'
}

/** Nothing stands for the identity, and its caller has brought as many keys as the quota allows. */
export interface OverQuota {
  readonly outcome: 'over_quota'
  /** When there is room for a fresh key, in milliseconds. */
  readonly roomInMs: number
}

/** What stands in the way of a claim. */
export type Refusal = Replay | InProgress | Mismatch | Unknown | OverQuota

/** The answer to a claim. */
export type ClaimResult = Granted | Refusal

/** A step on the way: the recovery point reached, and what the next phase needs. */
export interface Advance {
  readonly recoveryPoint: string | null
  readonly state: Uint8Array | null
  /** The lease holds this much longer from now, in milliseconds. */
  readonly leaseMs: number
}

/** The end: the answer, and how long it is kept. */
export interface Finish {
  readonly response: SealedResponse
  readonly resource: Resource | null
  /** How long the answer is kept from now, in milliseconds. */
  readonly retentionMs: number
}

/**
 * - `forget`: provably nothing took effect; the record is removed and the key is free for any
 *   request.
 * - `suspend`: the work stops here; the record stays, and the next claim decides by its recovery
 *   point.
 */
export type ReleaseMode = 'forget' | 'suspend'

/** Which records to list. */
export interface ListQuery {
  readonly status?: RecordStatus
  readonly caller?: string
  readonly operation?: string
  /** At most this many records, at least 1. */
  readonly limit: number
  /** `next` of the page before; the first page without. */
  readonly after?: string
}

/**
 * One page of records. Order is the store's own; a record that exists throughout the listing
 * appears at least once. A page may be shorter than the limit, even empty, before the end.
 */
export interface RecordPage {
  readonly records: readonly ListedRecord[]
  /** Where the next page starts; `null` at the end. */
  readonly next: string | null
}

/** A record with its standing at the time of reading, by the store's clock. */
export interface ListedRecord {
  readonly record: KeyRecord
  readonly status: RecordStatus
}

/** Counts for operators. */
export interface StoreStats {
  /** Unfinished, lease live. */
  readonly running: number
  /** Unfinished, nobody works on it, resumable. */
  readonly suspended: number
  /** Unfinished, nobody works on it, and nobody can say what took effect. */
  readonly unknown: number
}

/** Stops watching. */
export type Unwatch = () => void

/**
 * Where records live.
 *
 * @typeParam Tx - the transaction handle that handlers get in transaction mode; `never` for a store
 * without the capability.
 */
export interface Store<Tx = never> {
  /** Short name for errors and metrics. */
  readonly name: string

  /** Present if and only if the app's own rows can be committed together with the record. */
  readonly transactions?: Transactions<Tx>

  /** Present if and only if phases, staged jobs and dead letters are kept here too. */
  readonly work?: Work<Tx>

  /** Present if and only if operators can look into it. */
  readonly desk?: Desk

  /**
   * Keeps stored answers near: always `replayCaching` of `engine/replay-cache.ts`, brought by the
   * stores that take a while to answer. Absent where a cache would be no faster.
   */
  readonly caching?: ReplayCaching

  /**
   * Connects, checks and, where configured, migrates. Called before the first verb; repeated calls
   * cost nothing once one has succeeded.
   */
  ready(): Promise<void>

  /**
   * Takes the lease on the identity, or reports what stands in the way, by the table of
   * `core/decide.ts`. Of any number of concurrent claims with different owners at most one is
   * granted. A refusal changes nothing.
   *
   * A fresh record is made only within the quota. The keys of a caller that count are those whose
   * record was made under a quota, no longer ago than that quota said, and is still there. Claims at
   * the same instant may be let through beyond it where counting would have them wait for each other.
   */
  claim(request: ClaimRequest): Promise<ClaimResult>

  /**
   * Extends the lease to `leaseMs` from now, and the retention of the record at least as far.
   * Answers `false`, writing nothing, if the claim was lost or the record is finished.
   */
  renew(claim: Claim, leaseMs: number): Promise<boolean>

  /** Moves the recovery point and extends the lease. `false`, writing nothing, if the claim was lost. */
  advance(claim: Claim, step: Advance): Promise<boolean>

  /**
   * Stores the answer; the record is finished for good. `false`, writing nothing, if the claim was
   * lost; `true`, writing nothing, if this very claim had finished it before.
   */
  finish(claim: Claim, finish: Finish): Promise<boolean>

  /** Gives the lease up. `false`, writing nothing, if the claim was lost or the record is finished. */
  release(claim: Claim, mode: ReleaseMode): Promise<boolean>

  /** The record as stored, expired or not, with its standing now. */
  find(id: string): Promise<ListedRecord | undefined>

  list(query: ListQuery): Promise<RecordPage>

  /**
   * Deletes up to `limit` finished records past their retention and answers how many. Unfinished
   * ones are never deleted: what became of them is for a worker or a person to settle.
   */
  sweep(limit: number): Promise<number>

  stats(): Promise<StoreStats>

  /**
   * Calls `wake` when the record may have changed, until unwatched. Best effort and allowed to be
   * spurious: waiters also poll. Absent where the store has no way to tell.
   */
  watch?(id: string, wake: () => void): Promise<Unwatch>

  /** Ends what the store itself opened; connections handed in by the user stay open. */
  close(): Promise<void>
}
