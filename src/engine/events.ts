/**
 * What the engine tells about itself: for logs, metrics and tests. Events carry the record's id, a
 * digest, and never the key, a body or a secret.
 *
 * @module
 */

import type { ClientErrorCode } from '../core/error-table.ts'
import type { Origin } from '../core/record.ts'

/**
 * How a request ended: exactly one of these for each, also for those that share one run.
 *
 * `bypassed` and `rejected` never came to a record; all others were checked against one.
 */
export type OutcomeType =
  | 'executed'
  | 'resumed'
  | 'replayed'
  | 'in_progress'
  | 'mismatch'
  | 'unknown'
  /** The caller has brought as many fresh keys as its quota allows. */
  | 'over_quota'
  /** A phase asked for more time, or the database failed: the work is taken up again. */
  | 'postponed'
  /** A record was put before a person. */
  | 'dead_letter'
  /** The handler threw, or the store could not be asked. */
  | 'failed'
  /** Refused before the store was asked: the key is bad or missing, or the body can not be compared. */
  | 'rejected'
  /**
   * Ran unprotected: without a key, or by a method that is not protected. After `failed`, where the
   * store is down and the route lets requests through.
   */
  | 'bypassed'

/** How a request ended, or what happened on the way. */
export type EventType =
  | OutcomeType
  /** A lease was taken over from a run whose outcome is unknown. */
  | 'recovering'
  /** An unfinished record, past its retention, was replaced by a fresh one. */
  | 'abandoned'
  /** The lease was lost while the handler ran. */
  | 'lease_lost'
  /** The answer was sent although it could not be stored. */
  | 'not_stored'
  /** A call to the store failed or timed out. */
  | 'store_error'
  /** A transaction is run again after a serialization failure or a lost race. */
  | 'transaction_retry'

/** One event. */
export interface RepriseEvent {
  readonly type: EventType
  /** Id of the record: a digest; `null` for requests that came to none. */
  readonly id: string | null
  readonly operation: string
  /** Digest of the caller, 22 characters; `null` for requests that came to no run. */
  readonly caller: string | null
  /** Milliseconds from the start of the request to the event, by the process's clock. */
  readonly elapsedMs: number
  /** For failures: what was thrown. */
  readonly error?: unknown
  /** For `rejected`: why. */
  readonly code?: ClientErrorCode
  /** For outcomes: milliseconds in the app's own handler or phases; absent when none of it ran. */
  readonly handlerMs?: number
  /**
   * For outcomes: milliseconds that Reprise itself took, its store included: neither the handler's
   * nor spent waiting for the run of another request.
   */
  readonly overheadMs?: number
  /** For outcomes: the recovery point that the run has got to, if it has any. */
  readonly point?: string | null
  /** For duplicates that were answered without running anything: where they came from. */
  readonly duplicate?: DuplicateFacts
}

/** What is told of a duplicate. */
export interface DuplicateFacts extends Origin {
  /** Digest of what it asks for. */
  readonly fingerprint: string
}

/** A request that an adapter brought to no run. */
export interface Skipped extends Pick<RepriseEvent, 'operation' | 'code'> {
  readonly type: 'bypassed' | 'rejected'
}

/** Receives events. What it throws is swallowed: watching never breaks a request. */
export type EventListener = (event: RepriseEvent) => void

/** Hands `event` to `listener`, whatever the listener does. */
export function emit<E>(listener: ((event: E) => void) | undefined, event: E): void {
  try {
    const answer: unknown = listener?.(event)
    if (answer instanceof Promise) answer.catch(() => {})
  } catch {
    // A listener that throws is its author's bug; the request it watches goes on.
  }
}
