/**
 * What the client throws. Mistakes of the program are `TypeError`s.
 *
 * @module
 */

import type { JournalEntry } from './entry.ts'

/** Why an operation was given up before its outcome was known. */
export type UnknownReason =
  /** The last attempt got no answer, and no further one was allowed. */
  | 'network'
  /** The last attempt got a failure of the server. */
  | 'failed'
  /** The time was up. */
  | 'deadline'
  /** The caller's signal was aborted. */
  | 'aborted'
  /** Too many retries to this origin already. */
  | 'budget'
  /** The server may have forgotten the key: another attempt could take effect a second time. */
  | 'retention'
  /**
   * Refused at the door, or answered by somebody else on the way, such as a login page: it says
   * nothing about the attempts before.
   */
  | 'refused'
  /** By option: it was sent to an origin that has not shown that it honours keys. */
  | 'unprotected'
  /** Somebody else is logged in; it waits in the journal for its own caller. */
  | 'caller'
  /** The server itself says that it does not know. */
  | 'server'
  /**
   * An earlier operation on the same resource is not settled, or another client has the lock of the resource
   * and may send this one; here it was not sent.
   */
  | 'held'
  /** The journal failed while the operation was in it, or may have been. */
  | 'journal'

/** What an {@link OutcomeUnknownError} says. */
export interface UnknownOutcome {
  readonly entry: JournalEntry
  readonly reason: UnknownReason
  readonly attempts: number
  /** Whether any attempt may have left, now or earlier. */
  readonly sent: boolean
  readonly response?: Response | undefined
  readonly cause?: unknown
}

/**
 * It is not known whether the operation took effect. It stays in the journal: `client.resume()` asks
 * again with the same key. Never send it with another key before its effect was looked for.
 */
export class OutcomeUnknownError extends Error {
  override readonly name = 'OutcomeUnknownError'
  declare readonly key: string
  declare readonly reason: UnknownReason
  /** The request as it stands in the journal. */
  declare readonly request: JournalEntry
  declare readonly attempts: number
  /**
   * Whether any attempt may have left, now or earlier. Where it is `false` the operation has certainly not
   * taken effect yet: it was not sent, the connection was refused, the host has no address, or TLS failed.
   */
  declare readonly sent: boolean
  /** The last answer, if there was one. */
  declare readonly response: Response | undefined

  constructor({ entry, cause, ...rest }: UnknownOutcome) {
    const { key, method, url } = entry
    const what = `${method} ${url.replace(/[?#].*/, '')}`
    super(`Outcome of ${what} unknown: ${rest.reason}`, { cause })
    Object.assign(this, rest, { key, request: entry })
  }
}

/** The journal can not take the operation: nothing was sent, and the journal does not have it. */
export class JournalError extends Error {
  override readonly name = 'JournalError'
}

/** What an attempt ends with that gets no answer in time. */
export function timeoutError(): DOMException {
  return new DOMException('No answer in time.', 'TimeoutError')
}
