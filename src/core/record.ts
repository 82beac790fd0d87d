/**
 * The record: all that is kept about one identity, and the shapes it passes through.
 *
 * ```
 *                claim                       finish
 *   (no record) ───────► running ─────────────────────────► finished ──► expired
 *                        │  ▲  │ release('forget')             (replays)   (= no record)
 *       lease lapses, or │  │  └──────────────► (no record)
 *     release('suspend') ▼  │ claim, fence + 1
 *                   suspended   recovery point known: resume from it
 *                     unknown   no recovery point: nobody can say what took effect
 * ```
 *
 * Instants are milliseconds of the clock that the store's rows live with; they are only ever
 * compared with each other and with that clock.
 *
 * @module
 */

/** A response as a store keeps it: the status in clear, the rest sealed by `engine/seal.ts`. */
export interface SealedResponse {
  readonly status: number
  /** Headers and body: framed, perhaps compressed, perhaps encrypted. Opaque to stores. */
  readonly sealed: Uint8Array
}

/** Where the request that made the record came from; for people who look into it later. */
export interface Origin {
  /** Id of the request, sent again as `Original-Request-Id` with every replay. */
  readonly requestId: string | null
  /** Network address of the client. */
  readonly ip: string | null
  readonly userAgent: string | null
}

/** Reference to what the request made, set by the handler, for look-ups in both directions. */
export interface Resource {
  readonly type: string
  readonly id: string
}

/** What selects a record, before and after hashing. */
export interface RecordIdentity {
  /** Digest of the parts below that the dialect counts as identity; the primary key everywhere. */
  readonly id: string
  /** On whose behalf. Never a raw secret: hash an API key with `hashSecret` first. */
  readonly caller: string
  /** What is asked: method and route template, or a name. */
  readonly operation: string
  /** The key that the client sent, parsed. */
  readonly key: string
}

/** What is stored for an identity. */
export interface KeyRecord extends RecordIdentity {
  /** Digest of what the request says, in canonical form. */
  readonly fingerprint: string
  /** Grows by one with each taking of the lease. */
  readonly fence: number
  /** Token of the run that holds, or last held, the lease; `null` after a suspension. */
  readonly owner: string | null
  /** Until when the lease holds; `null` when nobody holds it. */
  readonly leaseUntil: number | null
  /** Where to resume; `null` when a run that stops leaves the outcome unknown. */
  readonly recoveryPoint: string | null
  /** State that the last phase handed on. Opaque to stores. */
  readonly state: Uint8Array | null
  /** The request's input, for whoever resumes it. Opaque to stores. */
  readonly input: Uint8Array | null
  /** The answer; the record is finished if and only if there is one. */
  readonly response: SealedResponse | null
  readonly resource: Resource | null
  readonly origin: Origin
  readonly createdAt: number
  readonly finishedAt: number | null
  /** From this instant on the record counts as absent. */
  readonly expiresAt: number
}

/** A record whose answer is stored. */
export interface FinishedRecord extends KeyRecord {
  readonly response: SealedResponse
  readonly finishedAt: number
}

/** Where a record stands at an instant. */
export type RecordStatus = 'running' | 'suspended' | 'unknown' | 'finished' | 'expired'

/** The recovery point of a record on which nothing has happened yet. */
export const STARTED = 'started'

/** Whether the record's answer is stored. */
export function isFinished(record: KeyRecord): record is FinishedRecord {
  return record.response !== null
}

/** Whether somebody holds the lease at `now`. The lease ends *at* `leaseUntil`. */
export function isLeaseLive(record: KeyRecord, now: number): boolean {
  return record.leaseUntil !== null && record.leaseUntil > now
}

/** Whether the record counts as absent at `now`. It expires *at* `expiresAt`. */
export function isExpired(record: KeyRecord, now: number): boolean {
  return record.expiresAt <= now
}

/** Where the record stands at `now`. */
export function statusOf(record: KeyRecord, now: number): RecordStatus {
  if (isExpired(record, now)) return 'expired'
  if (isFinished(record)) return 'finished'
  if (isLeaseLive(record, now)) return 'running'
  return record.recoveryPoint === null ? 'unknown' : 'suspended'
}
