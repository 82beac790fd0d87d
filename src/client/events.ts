/**
 * What the client tells about itself, for logs, metrics and spans.
 *
 * @module
 */

/** What happened. */
export type ClientEventType =
  /** Written down and not yet sent: offline, or behind others of its resource. */
  | 'queued'
  /** An attempt is about to be sent. */
  | 'attempt'
  /** An attempt failed; the next one follows after `delayMs`. */
  | 'retry'
  /** The server is still at work on it; asked again after `delayMs`. */
  | 'wait'
  /** The operation has its answer. */
  | 'answered'
  /** Given up; what became of it is not known. */
  | 'unknown'
  /** Answered, without a sign that the server honours keys. */
  | 'unprotected'
  /** The journal could not be written after the answer had come: it may be asked for once more. */
  | 'journal_error'

/**
 * One event. What can be written to a log has no header, no body, and no query, in which secrets may
 * stand.
 */
export interface ClientEvent {
  readonly type: ClientEventType
  /** `null` for requests without one. */
  readonly key: string | null
  readonly method: string
  /** Without query and fragment. */
  readonly url: string
  /** How many attempts have been sent, this one included. */
  readonly attempts: number
  /** Milliseconds since the operation began, or was taken up again. */
  readonly elapsedMs: number
  /** Status of the answer, if there was one. */
  readonly status?: number
  /**
   * With `answered`: the answer itself, for operations that nobody waits for any more, because they
   * were resumed when the network came back or before a later one. Whoever reads it reads a clone.
   */
  readonly response?: Response
  /** Whether the answer is a repeated one. */
  readonly replayed?: boolean
  /** Milliseconds until the next attempt. */
  readonly delayMs?: number
  /** What was thrown, or why it was given up. */
  readonly error?: unknown
}

/** Receives events. What it throws is swallowed: watching never breaks a request. */
export type ClientEventListener = (event: ClientEvent) => void

/** Tells the listener; addresses without their query, in which secrets may stand. */
export function teller({ onEvent }: { onEvent: ClientEventListener }): ClientEventListener {
  return (event) => {
    try {
      onEvent({ ...event, url: event.url.replace(/[?#].*/, '') })
    } catch {
      // A listener that throws is its author's bug; the operation goes on.
    }
  }
}
