/**
 * What a route says about its idempotency over HTTP.
 *
 * @module
 */

import type { Dialect } from '../core/dialects/dialect.ts'
import { ietf } from '../core/dialects/ietf.ts'
import type { FingerprintOptions } from '../core/fingerprint.ts'
import { checkFunctions, checkNames, type Names, RUN_NAMES, said } from '../core/known-options.ts'
import { exclusionOf } from '../core/member-path.ts'
import { invalid, type RunOptions, whole } from '../core/options.ts'
import type { KeyAge } from '../engine/key-age.ts'
import type { Servable } from '../engine/servable.ts'
import type { ClaimTime, Isolation } from '../engine/transactions.ts'

/** Where the key is: a header, a member of the body, a field of the query; or a function. */
export type KeySource<Req> =
  | { readonly header: string }
  | { readonly field: string }
  | { readonly query: string }
  | ((request: Req) => string | undefined | Promise<string | undefined>)

/** How requests are compared. */
export interface RequestOptions extends FingerprintOptions {
  /**
   * Longer bodies, in bytes, are refused with 413 before they are read whole. A body is digested
   * while it comes and waits in memory for the handler; what a parser has made of it already is not
   * counted.
   *
   * @default 33554432 (32 MiB)
   */
  readonly bodyBytesMax?: number
}

/**
 * Settings of a route that an operation answers. How its requests are run and kept is up to the operation:
 * workers finish them without any route.
 */
export type ServeOptions<Req> = Omit<
  HttpOptions<Req>,
  keyof RunOptions | 'sensitive' | 'serve' | 'transaction' | 'claim' | 'operation'
>

/**
 * Settings of a route; those of {@link RunOptions} override the engine's.
 *
 * @typeParam Req - the framework's request, which the functions are given
 * @typeParam Tx - what the store gives to handlers in transaction mode; `never` without transactions
 */
export interface HttpOptions<Req, Tx = unknown> extends RunOptions {
  /**
   * On whose behalf the request comes: account, user, organisation. Required, because without it one
   * client could read the answers of another. Runs after your authentication; hash an API key with
   * `hashSecret` before you return it.
   */
  readonly caller: (request: Req) => string | Promise<string>
  /**
   * An operation in phases that answers in the place of the handler, which is not called. Most
   * adapters have a function `serve` that sets it.
   *
   * @default the handler answers
   */
  readonly serve?: Servable
  /**
   * What {@link serve} is given as its input.
   *
   * @default what a JSON or form body says
   */
  readonly input?: (request: Req) => unknown
  /**
   * How it looks on the wire.
   *
   * @default ietf
   */
  readonly dialect?: Dialect
  /**
   * Methods that are protected. GET, HEAD and OPTIONS can not be.
   *
   * @default those of the dialect: POST and PATCH
   */
  readonly methods?: readonly string[]
  /**
   * Whether a request without a key is refused. With `false` and `transaction`, such a request runs
   * without a transaction of the store.
   *
   * @default `true` with `transaction`, else as the dialect says
   */
  readonly required?: boolean
  /**
   * Name of the operation, instead of the template of the route: in the record, and in the identity
   * where the dialect counts the route.
   *
   * @default method and route template; the path, where the framework does not tell the template
   */
  readonly operation?: string
  /**
   * Where the key is. A member of the body or a field of the query that holds the key is left out of
   * the comparison.
   *
   * @default the dialect's header, then the form field `idempotency_key`
   */
  readonly key?: KeySource<Req>
  /**
   * How requests are compared.
   *
   * @default every member and field counts
   */
  readonly fingerprint?: RequestOptions
  /**
   * Version of the API that the request asks for; another version is another request.
   *
   * @default none
   */
  readonly version?: (request: Req) => string | undefined
  /**
   * Runs the handler in a transaction of the store, which it gets as `tx`; an isolation level, or
   * `true` for the database's default. Only with a store that has transactions. The answer has to be
   * whole before it is sent, so streams are held back or refused.
   *
   * @default false: lease mode
   */
  readonly transaction?: [Tx] extends [never] ? false : boolean | Isolation
  /**
   * When the key is claimed in transaction mode. `'with-first-statement'` sends `begin`, the claim and
   * the handler's first statement in one flight, one round trip less; what the handler does before
   * that statement is then done for duplicates too and must have no effect. See
   * `TransactionOptions`.
   *
   * @default 'first': before the handler runs
   */
  readonly claim?: ClaimTime
  /**
   * Id of the request, sent again as `Original-Request-Id` with every replay.
   *
   * @default the request's `X-Request-Id`
   */
  readonly requestId?: (request: Req) => string | null
  /**
   * Refuses keys that tell their age and are too old, instead of running a forgotten request a second
   * time: `keyAge({ ageMsMax })` for UUIDv7 and ULID. At most the retention, better a little under.
   *
   * @default a key of any age is taken
   */
  readonly keyAge?: KeyAge
  /**
   * How long `Prefer: wait=n` of a request is honoured at most, in milliseconds.
   *
   * @default 10000
   */
  readonly preferWaitMsMax?: number
  /**
   * What to do when the store is down: refuse with 503, or run the handler unprotected and mark the
   * answer `Idempotency-Degraded: true`. Not in transaction mode, where the handler needs the store.
   *
   * @default false: refuse
   */
  readonly failOpen?: boolean
  /**
   * What to do with a response that streams. `buffer` holds it back up to `bodyBytesMax`, so that it
   * can be stored first; beyond that, and for server-sent events, it stores a marker and lets the
   * stream through. `bypass` stores the marker and lets every stream through at once.
   *
   * @default 'buffer'
   */
  readonly streams?: 'buffer' | 'bypass'
  /**
   * How long an answer is still waited for when the handler is over, or this process has cut its
   * connection, and nothing was answered, in milliseconds. Then the outcome counts as unknown. For
   * frameworks on Node; handlers from `Request` to `Response` are over when they answer.
   *
   * @default 60000
   */
  readonly unansweredMs?: number
  /**
   * Whether the answer holds a secret that is shown once, such as a token. Its body is then not kept,
   * not even encrypted, and a repeated request gets 409 `idempotency-result-gone`.
   *
   * @default false: the body is kept, encrypted where `encryption` is set
   */
  readonly sensitive?: boolean
  /**
   * Asked before a stored answer is given again: `true` allows it, and every other value, none
   * included, refuses with 403. For permissions that may have been lost since.
   *
   * @default every caller who passed authentication
   */
  readonly authorizeReplay?: (request: Req) => boolean | Promise<boolean>
  /**
   * Where you publish the pages of the error codes: the address that `errorPage` of
   * `reprise/published-policy` is served at. With a slash at its end, the `type` of a problem is
   * `<docsUrl><code>`; without, it is `<docsUrl>#<code>`.
   *
   * @default nowhere: the `type` of a problem is `urn:reprise:error:<code>`
   */
  readonly docsUrl?: string
}

/** What of a response is captured, and when it is let through. */
export interface CaptureOptions {
  /** Bytes of body that are held back at most. */
  readonly bodyBytesMax: number
  readonly streams: 'buffer' | 'bypass'
}

/** Methods that are safe by themselves: recording them would only cost. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** How long an answer is waited for when the handler is over, in milliseconds. */
export const UNANSWERED_MS = 60_000

const PREFER_WAIT_MS_MAX = 10_000
const BODY_BYTES_MAX = 33_554_432

/** What is settled about a route when it is set up. */
export interface RouteRules {
  readonly dialect: Dialect
  readonly methods: ReadonlySet<string>
  readonly required: boolean
  readonly preferWaitMsMax: number
  readonly fingerprint: FingerprintOptions
}

/**
 * Checks what can be checked at start.
 *
 * @param own - names that the adapter takes besides; those of all adapters by default
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolveRules<Req>(
  options: HttpOptions<Req>,
  own: readonly string[] = ['reprise', 'onError'],
): RouteRules {
  checkRoute(options, own)
  const dialect = options.dialect ?? ietf
  const { preferWaitMsMax = PREFER_WAIT_MS_MAX } = options
  if (typeof options.caller !== 'function') {
    const fault = options.caller === undefined ? 'is missing' : `is ${said(options.caller)}`
    throw invalid(`caller ${fault}: give a function that says on whose behalf a request comes`)
  }
  if (options.unansweredMs !== undefined) whole('unansweredMs', options.unansweredMs, 0)
  return {
    dialect,
    methods: new Set(checkedMethods(options.methods ?? dialect.methods)),
    required: options.required ?? (Boolean(options.transaction) || dialect.keyRequired),
    preferWaitMsMax: whole('preferWaitMsMax', preferWaitMsMax, 0),
    fingerprint: checkedFingerprint(options.fingerprint),
  }
}

function checkedFingerprint(options: RequestOptions = {}): FingerprintOptions {
  const { exclude = [], excludeQuery = [], multipart = 'parts' } = options
  // A malformed path is refused now, and not with the first request.
  exclusionOf(exclude)
  exclusionOf(excludeQuery)
  if (multipart !== 'parts' && multipart !== 'bytes') {
    throw invalid(`fingerprint.multipart is ${JSON.stringify(multipart)}: give 'parts' or 'bytes'`)
  }
  return { bodyBytesMax: BODY_BYTES_MAX, ...options }
}

const HTTP: Names<HttpOptions<unknown>> = {
  ...RUN_NAMES,
  caller: true,
  serve: true,
  input: true,
  dialect: true,
  methods: true,
  required: true,
  operation: true,
  key: true,
  fingerprint: true,
  version: true,
  transaction: true,
  claim: true,
  requestId: true,
  keyAge: true,
  preferWaitMsMax: true,
  failOpen: true,
  streams: true,
  unansweredMs: true,
  sensitive: true,
  authorizeReplay: true,
  docsUrl: true,
}
const FINGERPRINT: Names<RequestOptions> = {
  ...{ depthMax: true, exclude: true, canonicalBytesMax: true, bodyBytesMax: true },
  ...{ excludeQuery: true, secrets: true, multipart: true },
}

function checkRoute<Req>(options: HttpOptions<Req>, own: readonly string[]): void {
  if (typeof Reflect.get(Object(options), 'runInTransaction') === 'function') {
    throw invalid('the arguments are swapped: give idempotent(reprise, { caller })')
  }
  const more = Object.fromEntries(own.map((name) => [name, true] as const))
  checkNames('idempotent()', options, { ...HTTP, ...more })
  const { dialect, key, keyAge, streams, required, fingerprint = {} } = options
  checkNames('fingerprint of idempotent()', fingerprint, FINGERPRINT)
  if (dialect !== undefined && typeof dialect !== 'object') {
    throw invalid(`dialect must be one of reprise/dialects, not ${said(dialect)}`)
  }
  if (key !== undefined && typeof key !== 'function' && typeof key !== 'object') {
    throw invalid(`key must be { header }, { field }, { query } or a function, not ${said(key)}`)
  }
  if (keyAge !== undefined) checkFunctions(keyAge, ['check'], 'keyAge must be what keyAge() gives')
  if (streams !== undefined && streams !== 'buffer' && streams !== 'bypass') {
    throw invalid(`streams must be 'buffer' or 'bypass', not ${JSON.stringify(streams)}`)
  }
  if (required !== undefined && typeof required !== 'boolean') {
    throw invalid(`required must be true or false, not ${said(required)}`)
  }
}

function checkedMethods(given: readonly string[]): readonly string[] {
  if (!Array.isArray(given))
    throw invalid(`methods must be an array, such as ['POST'], not ${said(given)}`)
  const methods = given.map((method) => method.toUpperCase())
  const safe = methods.find((method) => SAFE.has(method))
  if (safe !== undefined) throw invalid(`methods names ${safe}, which is never recorded`)
  if (methods.length === 0) throw invalid('methods is empty: nothing would be protected')
  return methods
}

/** Checks the handler of an adapter that takes one. */
export function checkHandler(handler: unknown): void {
  if (typeof handler === 'function') return
  throw invalid(`idempotent(reprise, options, handler) takes a handler, not ${said(handler)}`)
}

/**
 * The settings of a route that `operation` answers.
 *
 * @throws RepriseError `reprise-options-invalid` for an option that belongs to the operation
 */
export function serving<Req>(operation: Servable, options: ServeOptions<Req>): HttpOptions<Req> {
  refuseRunOptions(options)
  return { ...options, serve: operation, operation: operation.name }
}

/**
 * Refuses what a route cannot say of an operation that answers it: it would be ignored.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function refuseRunOptions(options: object): void {
  const name = Object.keys(options).find((option) => {
    return option === 'sensitive' || Object.hasOwn(RUN_NAMES, option)
  })
  if (name === undefined) return
  throw invalid(
    `${name} is an option of operation(), not of the route that serves it: workers finish its requests without a route. Give it to operation()`,
  )
}
