/**
 * The headers by which an answer says how it came about.
 *
 * @module
 */

import type { Fate } from '../policy.ts'
import type { Header } from '../response.ts'
import type { Dialect } from './dialect.ts'

/** The request that is being answered. */
export interface KeyedRequest {
  /** The key, parsed. */
  readonly key: string
  /** Id of this request, if it has one. */
  readonly requestId: string | null
}

/** What became of the answer of a run. */
export interface FreshAnswer {
  readonly status: number
  readonly fate: Fate
  /** For how long the answer is kept, in milliseconds; `null` when it is not. */
  readonly expiresInMs: number | null
  /** Bytes of a body that its replay will not have, as far as known; `null` when it has them all. */
  readonly bodyBytesOmitted: number | 'unknown' | null
}

/** Says `false` on every answer to a request with a key that the same request will not get again. */
const STORED = 'Idempotency-Stored'

/** An answer that is given again. */
export interface ReplayedAnswer {
  readonly status: number
  /** Id of the request that was answered first. */
  readonly originalRequestId: string | null
  /** For how long the answer is still kept, in milliseconds. */
  readonly expiresInMs: number
  /** Bytes of a body that was not kept, as far as known; `null` when the body is whole. */
  readonly bodyBytesOmitted: number | 'unknown' | null
}

/** Headers to add to the answer of a run. */
export function freshMarks(
  dialect: Dialect,
  request: KeyedRequest,
  { status, fate, expiresInMs, bodyBytesOmitted }: FreshAnswer,
): readonly Header[] {
  const { originalRequest, originalRequestOnFirst, expires } = dialect.marks
  const isStored = fate === 'stored'
  const headers: Header[] = []
  add(headers, dialect.header, keyText(dialect, request.key))
  if (originalRequestOnFirst) add(headers, originalRequest, request.requestId)
  if (isStored && expiresInMs !== null) add(headers, expires, seconds(expiresInMs))
  if (!isStored || bodyBytesOmitted !== null) add(headers, STORED, 'false')
  if (fate === 'unprotected') add(headers, 'Idempotency-Degraded', 'true')
  if (isStored && status >= 400) addRetry(headers, dialect, false)
  if (fate === 'forgotten' && status >= 500) addRetry(headers, dialect, true)
  return headers
}

/** Headers to add to a replay. */
export function replayMarks(
  dialect: Dialect,
  { key }: Pick<KeyedRequest, 'key'>,
  { status, originalRequestId, expiresInMs, bodyBytesOmitted }: ReplayedAnswer,
): readonly Header[] {
  const { replayed, originalRequest, expires } = dialect.marks
  const headers: Header[] = []
  add(headers, dialect.header, keyText(dialect, key))
  add(headers, replayed, 'true')
  add(headers, originalRequest, originalRequestId)
  add(headers, expires, seconds(expiresInMs))
  if (bodyBytesOmitted !== null) {
    add(headers, 'Idempotency-Body-Omitted', String(bodyBytesOmitted))
  }
  if (status >= 400) addRetry(headers, dialect, false)
  return headers
}

/** Headers to add to a refusal, which is never stored; without a usable key there is none to echo. */
export function refusalMarks(
  dialect: Dialect,
  { key, retryable }: { readonly key?: string; readonly retryable: boolean },
): readonly Header[] {
  const headers: Header[] = []
  if (key !== undefined) add(headers, dialect.header, keyText(dialect, key))
  add(headers, STORED, 'false')
  addRetry(headers, dialect, retryable)
  return headers
}

/** Leaves out what is not there, and values that no header can carry. */
function add(headers: Header[], name: string | null, value: string | null): void {
  if (name !== null && value !== null && /^[ -~]+$/.test(value)) headers.push([name, value])
}

function addRetry(headers: Header[], { marks: { retry } }: Dialect, again: boolean): void {
  if (retry !== null) add(headers, retry.header, again ? retry.again : retry.never)
}

/** Bare where the key can be written bare, as most clients send it; else as a quoted string. */
export function keyText({ key: { mode } }: Pick<Dialect, 'key'>, key: string): string {
  const isBare = mode !== 'strict' && /^[!#-+\--:<-[\]-~]+$/.test(key)
  // Written out, because the client is not to load the parser of keys.
  return isBare ? key : `"${key.replace(/["\\]/g, '\\$&')}"`
}

/** Rounded down, so that nobody relies on an answer that is gone. */
function seconds(ms: number): string {
  return String(Math.max(0, Math.floor(ms / 1000)))
}
