/**
 * The way of a request over HTTP, the same in every framework: key, caller, fingerprint, run, and the
 * answer in the dialect of the route. Adapters translate what goes in and what comes out.
 *
 * @module
 */

import { replayStatusOf } from '../core/dialects/dialect.ts'
import { freshMarks, replayMarks } from '../core/dialects/marks.ts'
import { refusals, refuse } from '../core/dialects/refuse.ts'
import {
  IN_PROGRESS,
  KEY_INVALID,
  KEY_MISSING,
  QUOTA_EXCEEDED,
  REPLAY_FORBIDDEN,
  RESULT_GONE,
  RETRY_LATER,
  SEAL_BROKEN,
  STORE_UNAVAILABLE,
  TOO_EARLY,
} from '../core/error-table.ts'
import { isClientErrorCode, isRepriseError, type RepriseError } from '../core/errors.ts'
import { fingerprintRequest, refuseOver } from '../core/fingerprint.ts'
import type { KeyResult } from '../core/key.ts'
import { invalid } from '../core/options.ts'
import type { Occurrence } from '../core/problem.ts'
import type { Origin } from '../core/record.ts'
import type { CapturedResponse, Header } from '../core/response.ts'
import { systemRandom } from '../engine/clock.ts'
import type { RunRequest } from '../engine/job.ts'
import type { AnyReprise } from '../engine/reprise.ts'
import type { RunResult } from '../engine/result.ts'
import { omittedBytes } from '../engine/seal.ts'
import type { Servable } from '../engine/servable.ts'
import type { Isolation } from '../engine/transactions.ts'
import { type Asked, type Exchange, headerOf, isEarly, waitOf } from './exchange.ts'
import { comparedBy, readKey } from './key-source.ts'
import { type CaptureOptions, type HttpOptions, type RouteRules, resolveRules } from './options.ts'
import { type Execute, WatchedHandler } from './watched-handler.ts'

/**
 * What the adapter has to do:
 * - `bypassed`: nothing is protected; have the handler run and add the headers, if any.
 * - `answered`: send this answer; the handler did not run, or its answer must not be sent.
 * - `executed`: send the handler's own answer, exactly, with these headers added.
 */
export type Protected =
  | { readonly kind: 'bypassed'; readonly marks: readonly Header[] }
  | { readonly kind: 'answered'; readonly response: CapturedResponse }
  | { readonly kind: 'executed'; readonly marks: readonly Header[] }

/** What is worth sending again, and when. */
const LATER = { in_progress: IN_PROGRESS, postponed: RETRY_LATER, over_quota: QUOTA_EXCEEDED }

const BYPASSED: Protected = { kind: 'bypassed', marks: [] }

/** The protection of one route. */
export class Guard<Req, Tx> {
  readonly options: HttpOptions<Req, Tx>
  /** How much of a response is held back, and what is done with streams. */
  readonly captureOptions: CaptureOptions
  readonly #rules: RouteRules
  readonly #reprise: AnyReprise<Tx>

  /**
   * @param handler - whether the adapter can call the handler again for the same request; where it
   * can not, a transaction that loses to others is not retried here but by the client
   * @throws RepriseError `reprise-options-invalid`
   */
  constructor(
    reprise: AnyReprise<Tx>,
    options: HttpOptions<Req, Tx>,
    handler: { readonly isRepeatable: boolean } = { isRepeatable: false },
  ) {
    this.options = options
    this.#rules = resolveRules(options)
    if (options.transaction || options.claim) reprise.checkTransaction(options)
    const runOptions = handler.isRepeatable ? options : { ...options, transactionAttemptsMax: 1 }
    const own = reprise.with(runOptions)
    this.#reprise = options.sensitive === true ? own.with({ bodyBytesMax: 0 }) : own
    this.captureOptions = {
      bodyBytesMax: own.options.bodyBytesMax,
      streams: options.streams ?? 'buffer',
    }
    if (own.options.retentionIsFixed) {
      options.keyAge?.checkRetention(own.options.retentionMs('any'))
    }
  }

  /** Whether requests with this method are protected at all. */
  guards(method: string): boolean {
    return this.#rules.methods.has(method.toUpperCase())
  }

  /** Whether this request is to be protected; the listener is told of one that is not. */
  takes(exchange: Asked): boolean {
    if (this.guards(exchange.method)) return true
    this.#bypass(exchange)
    return false
  }

  /** Takes a request through the protocol. What the handler throws is thrown. */
  async protect(request: Req, exchange: Exchange, execute: Execute<Tx>): Promise<Protected> {
    const watched = new WatchedHandler(execute)
    let key: string | undefined
    let run: RunRequest | undefined
    try {
      const found = await readKey(request, exchange, { rules: this.#rules, options: this.options })
      const refusal = found.kind === 'key' ? undefined : this.#withoutKey(found, exchange)
      if (refusal !== undefined) return refusal
      // What runs in phases has a record in any case: without one nobody could take it up again.
      key = found.kind === 'key' ? found.key : systemRandom.token()
      run = await this.#request(request, exchange, key)
      const { serve } = this.options
      const result =
        serve === undefined
          ? await this.#run(run, watched.execute)
          : await serve.serve(run, await this.#input(serve, { request, exchange }))
      if (result.outcome === 'rejected') {
        return this.#reject(exchange, { ...result.occurrence, key })
      }
      return await this.#answer(request, { run, result, hasBegun: watched.hasBegun })
    } catch (error) {
      const isOurs = isRepriseError(error) && error !== watched.thrown
      if (isOurs && key !== undefined && this.#isUnreadable(error, watched.hasBegun)) {
        return this.#refused({ ...RESULT_GONE, key })
      }
      if (!isOurs || !isClientErrorCode(error.code)) throw error
      const isDown = error.code === STORE_UNAVAILABLE.code && !watched.hasBegun
      if (isDown && key !== undefined && this.options.failOpen === true) {
        return this.#degraded(exchange, key)
      }
      const { code, status, title, retryable, hint, detail } = error
      const entry = { code, status, title, retryable, hint }
      const occurrence = key === undefined ? entry : { ...entry, key }
      // Details of the store's failures are not the client's business; those of its own request are.
      if (run !== undefined) return this.#refused(occurrence)
      return this.#reject(exchange, detail === undefined ? occurrence : { ...occurrence, detail })
    }
  }

  /**
   * Whether there is an answer that nobody can open: damaged, or sealed with a key that is missing.
   * The listener was told; what is stored of an operation in phases may also be its input.
   */
  #isUnreadable({ code }: RepriseError, hasBegun: boolean): boolean {
    return code === SEAL_BROKEN.code && !hasBegun && this.options.serve === undefined
  }

  async #input(serve: Servable, asked: { request: Req; exchange: Exchange }): Promise<unknown> {
    const { input } = this.options
    if (input !== undefined) return input(asked.request)
    const { fingerprint } = this.#rules
    return serve.read(await asked.exchange.body(fingerprint), fingerprint)
  }

  #withoutKey(
    found: Exclude<KeyResult, { kind: 'key' }>,
    exchange: Exchange,
  ): Protected | undefined {
    if (found.kind === 'invalid') {
      const { detail, reason } = found
      return this.#reject(exchange, { ...KEY_INVALID, detail, keyFault: reason })
    }
    if (this.#rules.required) return this.#reject(exchange, KEY_MISSING)
    if (isEarly(exchange)) return this.#reject(exchange, TOO_EARLY)
    if (this.options.serve !== undefined) return undefined
    this.#bypass(exchange)
    return BYPASSED
  }

  #bypass(exchange: Asked): void {
    this.#reprise.skip({ type: 'bypassed', operation: this.#operation(exchange) })
  }

  /** Refuses a request that the store was not asked about. */
  #reject(exchange: Exchange, occurrence: Occurrence): Protected {
    const { code } = occurrence
    this.#reprise.skip({ type: 'rejected', operation: this.#operation(exchange), code })
    return this.#refused(occurrence)
  }

  #operation({ method, route, path }: Asked): string {
    return this.options.operation ?? `${method} ${route ?? path}`
  }

  #run(request: RunRequest, execute: Execute<Tx>): Promise<RunResult> {
    // Whether it can be set at all depends on `Tx`, which the compiler does not follow here.
    const transaction: boolean | Isolation = this.options.transaction ?? false
    const { claim = 'first' } = this.options
    const reprise = this.#reprise
    if (transaction === false || reprise.runInTransaction === undefined) {
      return reprise.run(request, execute)
    }
    const options = transaction === true ? { claim } : { isolation: transaction, claim }
    return reprise.runInTransaction(request, execute, options)
  }

  async #request(request: Req, exchange: Exchange, key: string): Promise<RunRequest> {
    const { options } = this
    const { dialect, preferWaitMsMax } = this.#rules
    const { method, path, route, query } = exchange
    const contentType = headerOf(exchange, 'content-type')
    const caller = await options.caller(request)
    if (typeof caller !== 'string' || caller === '') {
      throw invalid('caller() gave no caller: run authentication before this route is protected')
    }
    options.keyAge?.checkRetention(this.#reprise.options.retentionMs(caller))
    const version = options.version?.(request)
    const comparison = comparedBy(exchange, this.#rules, options)
    refuseOver(Number(headerOf(exchange, 'content-length') ?? 0), comparison)
    const body = await exchange.digest(contentType, comparison)
    const compared = { method, path, query, contentType, body, version }
    const parts = { caller, key, method, path, route: options.operation ?? route ?? path }
    return {
      caller,
      key,
      fingerprints: fingerprintRequest(compared, comparison),
      operation: this.#operation(exchange),
      // Names go in with the values: the route of one dialect never meets the path of another.
      identity: dialect.identity.flatMap((part) => [part, parts[part]]),
      origin: this.#origin(request, exchange),
      waitMs: waitOf(exchange, preferWaitMsMax),
    }
  }

  #origin(request: Req, exchange: Exchange): Origin {
    const { requestId } = this.options
    return {
      requestId: requestId === undefined ? headerOf(exchange, 'x-request-id') : requestId(request),
      ip: exchange.ip,
      userAgent: headerOf(exchange, 'user-agent'),
    }
  }

  async #answer(
    request: Req,
    { run, result, hasBegun }: { run: RunRequest; result: RunResult; hasBegun: boolean },
  ): Promise<Protected> {
    const { dialect } = this.#rules
    const keyed = { key: run.key, requestId: run.origin?.requestId ?? null }
    switch (result.outcome) {
      case 'executed':
      case 'resumed': {
        const { response, fate, expiresInMs } = result
        const bodyBytesOmitted = omittedBytes(response, this.#reprise.options.bodyBytesMax)
        const answer = { status: response.status, fate, expiresInMs, bodyBytesOmitted }
        const marks = freshMarks(dialect, keyed, answer)
        if (hasBegun) return { kind: 'executed', marks }
        // A `recover()` function answered: no handler has run whose answer could be sent.
        const headers = [...response.headers, ...marks]
        return { kind: 'answered', response: { ...response, headers } }
      }
      case 'replayed': {
        const isAllowed = (await this.options.authorizeReplay?.(request)) ?? true
        if (!isAllowed) return this.#refused({ ...REPLAY_FORBIDDEN, key: run.key })
        const { response, requestId, expiresInMs } = result
        const { status, bodyBytesOmitted } = response
        if (this.options.sensitive === true && bodyBytesOmitted !== null) {
          return this.#refused({ ...RESULT_GONE, key: run.key })
        }
        const replay = { status, originalRequestId: requestId, expiresInMs, bodyBytesOmitted }
        const headers = [...response.headers, ...replayMarks(dialect, keyed, replay)]
        const replayed = { ...response, status: replayStatusOf(dialect, status), headers }
        return { kind: 'answered', response: replayed }
      }
      case 'in_progress':
      case 'postponed':
      case 'over_quota': {
        const entry = LATER[result.outcome]
        const retryAfterSeconds = Math.ceil(result.retryAfterMs / 1000)
        return this.#refused({ ...entry, key: run.key, retryAfterSeconds })
      }
      case 'mismatch':
      case 'unknown':
        return this.#refused({ ...refusals[result.outcome], key: run.key })
    }
  }

  #refused(occurrence: Occurrence): Protected {
    const { docsUrl } = this.options
    const where = docsUrl === undefined ? occurrence : { ...occurrence, docsUrl }
    return { kind: 'answered', response: refuse(this.#rules.dialect, where) }
  }

  /** The store is down and the route lets requests through: the handler runs, and the answer says so. */
  #degraded(exchange: Exchange, key: string): Protected {
    this.#bypass(exchange)
    const answer = { status: 200, expiresInMs: null, bodyBytesOmitted: null }
    const request = { key, requestId: null }
    const marks = freshMarks(this.#rules.dialect, request, { ...answer, fate: 'unprotected' })
    return { kind: 'bypassed', marks }
  }
}
