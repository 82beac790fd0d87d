/**
 * Refusals as clients see them: a problem document (RFC 9457), or the same in the format of another
 * dialect. No key, body or secret is in it, unless a dialect's contract names the key.
 *
 * @module
 */

import type { ClientErrorCode, ErrorEntry } from './error-table.ts'
import { problemTypeOf } from './errors.ts'
import type { KeyFault } from './key.ts'
import type { CapturedResponse, Header } from './response.ts'

/** One refusal of one request: a row of the table, and what is to be said besides. */
export interface Occurrence extends ErrorEntry<ClientErrorCode> {
  /** What happened here, without a full stop; what to do about it is added. */
  readonly detail?: string
  /** The key, parsed; absent when there is no usable one. */
  readonly key?: string
  /** What is wrong with the key, for `idempotency-key-invalid`. */
  readonly keyFault?: KeyFault
  /**
   * When to send the request again, in seconds; for retryable codes only.
   *
   * @default 1
   */
  readonly retryAfterSeconds?: number
  /** Id of the refused request, for support. */
  readonly requestId?: string
  /**
   * Where the app publishes the pages of the codes; see `problemTypeOf`.
   *
   * @default nowhere: the type is a URN, and no `Link` header is sent
   */
  readonly docsUrl?: string
  /** Extension members of the app's own. They never replace the members of {@link Problem}. */
  readonly members?: Readonly<Record<string, unknown>>
}

/** A problem document. */
export interface Problem {
  /** Stands for the code; the address of its page where `docsUrl` is set, else a URN. */
  readonly type: string
  /** The same for every occurrence of the code. */
  readonly title: string
  /** The status that the response really has. */
  readonly status: number
  /** What happened, if there is more to say than the title, and what to do next. */
  readonly detail: string
  readonly code: ClientErrorCode
  /** Whether the same request with the same key can succeed later. */
  readonly retryable: boolean
  readonly requestId?: string
}

/** How refusals are written. */
export interface ErrorFormat {
  readonly contentType: string
  /** Statuses other than those of the table. */
  readonly statuses: Readonly<Partial<Record<ClientErrorCode, number>>>
  /** The body, to be written as JSON. */
  readonly body: (problem: Problem, occurrence: Occurrence) => unknown
}

/** The format of RFC 9457. */
export const problemFormat: ErrorFormat = {
  contentType: 'application/problem+json',
  statuses: {},
  body: (problem, { members }) => ({ ...members, ...problem }),
}

/** The problem document of an occurrence. */
export function problemOf(occurrence: Occurrence, status?: number): Problem {
  const { code, title, hint, detail, retryable, requestId } = occurrence
  return {
    type: problemTypeOf(code, occurrence.docsUrl),
    title,
    status: status ?? occurrence.status,
    detail: detail === undefined ? hint : `${detail}. ${hint}`,
    code,
    retryable,
    ...(requestId === undefined ? {} : { requestId }),
  }
}

/** The response to a refused request. */
export function renderProblem(
  occurrence: Occurrence,
  format: ErrorFormat = problemFormat,
): CapturedResponse {
  const problem = problemOf(occurrence, format.statuses[occurrence.code])
  const headers: Header[] = [['Content-Type', format.contentType]]
  if (occurrence.docsUrl !== undefined) {
    headers.push(['Link', `<${problem.type}>; rel="describedby"; type="text/html"`])
  }
  if (problem.retryable) {
    headers.push(['Retry-After', retryAfter(occurrence.retryAfterSeconds)])
  }
  const text = JSON.stringify(format.body(problem, occurrence))
  return { status: problem.status, headers, body: new TextEncoder().encode(text) }
}

/** Longer waits are a mistake of whoever asks for them. */
const RETRY_AFTER_SECONDS_MAX = 86_400

/** A whole number of seconds, at least one: zero would make a tight loop of an obedient client. */
function retryAfter(seconds = 1): string {
  const whole = Number.isNaN(seconds) ? 1 : Math.ceil(seconds)
  return String(Math.min(Math.max(1, whole), RETRY_AFTER_SECONDS_MAX))
}
