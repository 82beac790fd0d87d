/**
 * What the engine tells about itself: for logs, metrics and tests. Events carry the record's id, a
 * digest, and never the key, a body or a secret.
 *
 * @module
 */

/** How a request ended, or what happened on the way. */
export type EventType =
  | 'executed'
  | 'resumed'
  | 'replayed'
  | 'in_progress'
  | 'mismatch'
  | 'unknown'
  /** The handler threw, or the store could not be asked. */
  | 'failed'
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
  /** Id of the record: a digest. */
  readonly id: string
  readonly operation: string
  /** Milliseconds from the start of the request to the event, by the process's clock. */
  readonly elapsedMs: number
  /** For failures: what was thrown. */
  readonly error?: unknown
}

/** Receives events. What it throws is swallowed: watching never breaks a request. */
export type EventListener = (event: RepriseEvent) => void

/** Hands `event` to `listener`, whatever the listener does. */
export function emit(listener: EventListener | undefined, event: RepriseEvent): void {
  try {
    const answer: unknown = listener?.(event)
    if (answer instanceof Promise) answer.catch(() => {})
  } catch {
    // A listener that throws is its author's bug; the request it watches goes on.
  }
}
