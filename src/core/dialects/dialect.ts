/**
 * How the protocol looks on the wire: data, and one function that writes error bodies.
 *
 * @module
 */

import type { KeyOptions } from '../key.ts'
import type { ErrorFormat } from '../problem.ts'

/** A part of a request, besides caller and key, that can count towards its identity. */
export type IdentityPart = 'method' | 'route' | 'path'

/**
 * The parts that select a record. Caller and key always count: without the caller one client could
 * read another's answers. What is not part of the identity has to be part of the fingerprint, so
 * that the key on another path is a mismatch and not a replay.
 */
export type IdentityParts = readonly ['caller', 'key', ...IdentityPart[]]

/** A header that tells clients whether to send the same request with the same key again. */
export interface RetryMark {
  readonly header: string
  /** Value where a repetition can succeed. */
  readonly again: string
  /** Value where it can not; `null` says nothing then. */
  readonly never: string | null
}

/** Headers that the dialect adds to answers; `null` for those it does not have. */
export interface Marks {
  /** Says `true` on a replay. */
  readonly replayed: string | null
  /** Id of the request that was answered first. */
  readonly originalRequest: string | null
  /** Whether the first answer carries it as well, naming itself. */
  readonly originalRequestOnFirst: boolean
  /**
   * For how long the answer is still kept, in whole seconds from the moment of sending: a duration,
   * so that it does not depend on anybody's clock.
   */
  readonly expires: string | null
  readonly retry: RetryMark | null
}

/** A dialect. Make your own from one of ours with `extendDialect`. */
export interface Dialect {
  readonly name: string
  /** Header that carries the key; every answer to a request with a usable key echoes it. */
  readonly header: string
  /** Methods whose keys are honoured, unless the route says otherwise. */
  readonly methods: readonly string[]
  readonly key: KeyOptions
  /** Whether a request without a key is refused, unless the route says otherwise. */
  readonly keyRequired: boolean
  readonly identity: IdentityParts
  /**
   * Status of a replayed 201. `200` says that nothing was created this time; any other status,
   * errors above all, is always replayed as it was.
   */
  readonly replayStatus: 'first' | 200
  readonly marks: Marks
  readonly errors: ErrorFormat
}

/** The status of the replay of an answer with `status`. */
export function replayStatusOf(dialect: Dialect, status: number): number {
  return status === 201 && dialect.replayStatus !== 'first' ? dialect.replayStatus : status
}
