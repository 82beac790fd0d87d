/**
 * Responses as they are captured, and which of their headers are worth storing.
 *
 * @module
 */

/** One header as it was written. Repeated headers are entries of their own. */
export type Header = readonly [name: string, value: string]

/** A whole response, as the handler gave it. */
export interface CapturedResponse {
  readonly status: number
  readonly headers: readonly Header[]
  readonly body: Uint8Array
  /** Whether the body is a stream that is let through and can not be kept. */
  readonly bodyIsStream?: boolean
  /**
   * How the handler gave the answer, where a replay has to give it in the same way.
   *
   * @default the usual way: a body of known length under the usual reason phrase of its status
   */
  readonly delivery?: Delivery | undefined
}

/** What of an answer is neither status nor header nor body, and is stored with it. */
export interface Delivery {
  /** The reason phrase, where the handler gave one of its own. */
  readonly statusMessage?: string
  /** Whether the body was sent in chunks, without its length. */
  readonly isChunked?: true
  /** Whether the handler itself named the length of a body that is sent as a `Response`. */
  readonly hasLength?: true
  /** As what the handler gave the body to its framework, for the middleware in front. */
  readonly bodyForm?: BodyForm
}

/**
 * As what a body was given to a framework that sends it later:
 * - `bytes`, `text`, `json`, `stream`: a buffer, a string, a value, a stream.
 * - `null`: the handler said that there is none.
 * - `none`: the handler gave none, only a status; `untouched`: not even a status.
 * - `written`: written to the response itself, where the middleware in front changes nothing.
 */
export type BodyForm = (typeof BODY_FORMS)[number]

/** Every form of a body. */
export const BODY_FORMS = [
  'bytes',
  'text',
  'json',
  'stream',
  'null',
  'none',
  'untouched',
  'written',
] as const

/** Which headers are stored with an answer. Names are compared without regard to case. */
export interface HeaderPolicy {
  /**
   * Names to store although they are left out by default. Has no effect on headers that frame a
   * message or belong to a connection; cookies have a switch of their own.
   *
   * @default []
   */
  readonly keep?: readonly string[]
  /**
   * Names to leave out in addition. Wins over `keep` and `cookies`.
   *
   * @default []
   */
  readonly drop?: readonly string[]
  /**
   * Whether `Set-Cookie` is stored and sent again. A cookie is often a credential: it would rest in
   * the store, and a replay would set an old session over a newer one.
   *
   * @default false
   */
  readonly cookies?: boolean
}

/** Request headers that a browser has to be allowed to send (`Access-Control-Allow-Headers`). */
export const CORS_ALLOW_HEADERS: readonly string[] = ['Idempotency-Key']

/** Response headers that scripts need to read (`Access-Control-Expose-Headers`). */
export const CORS_EXPOSE_HEADERS: readonly string[] = [
  'Idempotency-Key',
  'Idempotent-Replayed',
  'Idempotent-Retry',
  'Idempotency-Stored',
  'Idempotency-Expires',
  'Idempotency-Degraded',
  'Idempotency-Body-Omitted',
  'Original-Request-Id',
  'Retry-After',
  'Link',
]

/** Frames one message or belongs to one connection: stored, it would corrupt the replay. */
const NEVER: ReadonlySet<string> = names(
  'connection keep-alive proxy-connection te trailer transfer-encoding upgrade content-length',
)

/**
 * Says something about one sending of the answer, not about the answer: when, by whom, for which
 * trace, how much of a quota is left. The replay is a sending of its own and gets its own.
 */
const OF_ONE_SENDING: ReadonlySet<string> = names(
  'date age server via x-powered-by alt-svc set-cookie2 ' +
    'authentication-info proxy-authenticate proxy-authentication-info ' +
    'traceparent tracestate traceresponse baggage b3 sentry-trace ' +
    'x-request-id request-id x-correlation-id correlation-id ' +
    'x-amzn-requestid x-amzn-trace-id x-cloud-trace-context cf-ray ' +
    'server-timing x-response-time x-runtime ' +
    'original-request-id original-request stripe-should-retry x-idempotency-key',
)

/**
 * The same by prefix: quotas, traces, marks that are made anew for each response, and CORS, whose
 * answer depends on the origin that asks this time.
 */
const OF_ONE_SENDING_PREFIX: RegExp =
  /^(?:x-)?rate-?limit|^x-(?:b3|datadog)-|^access-control-|^idempoten(?:cy|t)-/

/**
 * The headers to store with an answer, in order and number as they came.
 *
 * All but a known few, rather than only a known few: a header of the app's own is part of its
 * answer, and a replay without it would not be the same answer.
 */
export function keptHeaders(
  headers: readonly Header[],
  policy: HeaderPolicy = {},
): readonly Header[] {
  const keep = lowerCased(policy.keep)
  const drop = lowerCased(policy.drop)
  return headers.filter(([written]) => {
    const name = written.toLowerCase()
    if (NEVER.has(name) || drop.has(name)) return false
    if (name === 'set-cookie') return policy.cookies === true
    return keep.has(name) || !(OF_ONE_SENDING.has(name) || OF_ONE_SENDING_PREFIX.test(name))
  })
}

const NONE: ReadonlySet<string> = new Set()

function lowerCased(list: readonly string[] = []): ReadonlySet<string> {
  if (list.length === 0) return NONE
  return new Set(list.map((name) => name.toLowerCase()))
}

function names(list: string): ReadonlySet<string> {
  return new Set(list.split(' '))
}
