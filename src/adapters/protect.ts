/**
 * The way of a request over HTTP, the same in every framework: key, caller, fingerprint, run, and the
 * answer in the dialect of the route. Adapters translate what goes in and what comes out.
 *
 * @module
 */

import { replayStatusOf } from '../core/dialects/dialect.ts'
import { freshMarks, replayMarks } from '../core/dialects/marks.ts'
import { refusalCodes, refuse } from '../core/dialects/refuse.ts'
import { isClientErrorCode, isRepriseError } from '../core/errors.ts'
import { fingerprintRequest } from '../core/fingerprint.ts'
import { invalid } from '../core/options.ts'
import type { Occurrence } from '../core/problem.ts'
import type { Origin } from '../core/record.ts'
import type { CapturedResponse, Header } from '../core/response.ts'
import type { RunRequest } from '../engine/job.ts'
import type { AnyReprise } from '../engine/reprise.ts'
import type { RunResult } from '../engine/result.ts'
import type { Run } from '../engine/run.ts'
import type { TransactionRun } from '../engine/transaction-run.ts'
import { type Exchange, headerOf } from './exchange.ts'
import { comparedBy, type FoundKey, readKey } from './key-source.ts'
import { type CaptureOptions, type HttpOptions, type RouteRules, resolveRules } from './options.ts'

/** What the handler of a protected request can say and ask; `tx` in transaction mode only. */
export type HttpRun<Tx> = Run | TransactionRun<Tx>

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

/** Has the framework's handler run and captures its answer. */
export type Execute<Tx> = (run: HttpRun<Tx>) => Promise<CapturedResponse>

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
    const runOptions = handler.isRepeatable ? options : { ...options, transactionAttemptsMax: 1 }
    const own = reprise.with(runOptions)
    this.#reprise = options.sensitive === true ? own.with({ bodyBytesMax: 0 }) : own
    this.captureOptions = {
      bodyBytesMax: own.options.bodyBytesMax,
      streams: options.streams ?? 'buffer',
    }
    if (this.#rules.transaction !== false && !reprise.hasTransactions) {
      throw invalid(
        'transaction is set, and the store has no transactions: use PostgreSQL or SQLite',
      )
    }
  }

  /** Whether requests with this method are protected at all. */
  guards(method: string): boolean {
    return this.#rules.methods.has(method.toUpperCase())
  }

  /** Takes a request through the protocol. What the handler throws is thrown. */
  async protect(request: Req, exchange: Exchange, execute: Execute<Tx>): Promise<Protected> {
    if (!this.guards(exchange.method)) return BYPASSED
    const watched = new WatchedHandler(execute)
    let key: string | undefined
    try {
      const found = await readKey(request, exchange, { rules: this.#rules, options: this.options })
      if (found.kind !== 'key') return this.#withoutKey(found, exchange)
      key = found.key
      const run = await this.#request(request, exchange, key)
      const result = await this.#run(run, watched.execute)
      return await this.#answer(request, { run, result, hasBegun: watched.hasBegun })
    } catch (error) {
      const isOurs = isRepriseError(error) && error !== watched.thrown
      if (!isOurs || !isClientErrorCode(error.code)) throw error
      const isDown = error.code === 'idempotency-store-unavailable' && !watched.hasBegun
      if (isDown && key !== undefined && this.options.failOpen === true) return this.#degraded(key)
      return this.#refused({ code: error.code, ...(key === undefined ? {} : { key }) })
    }
  }

  #withoutKey(found: Exclude<FoundKey, { kind: 'key' }>, exchange: Exchange): Protected {
    if (found.kind === 'invalid') {
      const { kind: _, ...fault } = found
      return this.#refused(fault)
    }
    if (this.#rules.required) return this.#refused({ code: 'idempotency-key-missing' })
    return isEarly(exchange) ? this.#refused({ code: 'idempotency-too-early' }) : BYPASSED
  }

  #run(request: RunRequest, execute: Execute<Tx>): Promise<RunResult> {
    const { transaction } = this.#rules
    const reprise = this.#reprise
    if (transaction === false || reprise.runInTransaction === undefined) {
      return reprise.run(request, execute)
    }
    const options = typeof transaction === 'boolean' ? {} : { isolation: transaction }
    return reprise.runInTransaction(request, whole(execute), options)
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
    const version = options.version?.(request)
    const comparison = comparedBy(exchange, options)
    const body = await exchange.digest(contentType, comparison)
    const compared = { method, path, query, contentType, body, version }
    const parts = { caller, key, method, path, route: options.operation ?? route ?? path }
    return {
      ...{ caller, key, fingerprints: fingerprintRequest(compared, comparison) },
      operation: options.operation ?? `${method} ${parts.route}`,
      // Names go in with the values: the route of one dialect never meets the path of another.
      identity: dialect.identity.flatMap((part) => [part, parts[part]]),
      origin: this.#origin(request, exchange),
      ...waitOf(exchange, preferWaitMsMax),
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
        const { fate, expiresInMs, response } = result
        const marks = freshMarks(dialect, keyed, { status: response.status, fate, expiresInMs })
        if (hasBegun) return { kind: 'executed', marks }
        // A `recover()` function answered: no handler has run whose answer could be sent.
        const headers = [...response.headers, ...marks]
        return { kind: 'answered', response: { ...response, headers } }
      }
      case 'replayed': {
        const isAllowed = (await this.options.authorizeReplay?.(request)) ?? true
        if (!isAllowed) return this.#refused({ code: 'idempotency-replay-forbidden', key: run.key })
        const { response, requestId, expiresInMs } = result
        const { status, bodyBytesOmitted } = response
        if (this.options.sensitive === true && bodyBytesOmitted !== null) {
          return this.#refused({ code: 'idempotency-result-gone', key: run.key })
        }
        const replay = { status, originalRequestId: requestId, expiresInMs, bodyBytesOmitted }
        const headers = [...response.headers, ...replayMarks(dialect, keyed, replay)]
        const replayed = { ...response, status: replayStatusOf(dialect, status), headers }
        return { kind: 'answered', response: replayed }
      }
      case 'in_progress':
        return this.#refused({
          ...{ code: refusalCodes.in_progress, key: run.key },
          retryAfterSeconds: Math.ceil(result.retryAfterMs / 1000),
        })
      case 'mismatch':
      case 'unknown':
        return this.#refused({ code: refusalCodes[result.outcome], key: run.key })
    }
  }

  #refused(occurrence: Occurrence): Protected {
    const { docsUrl } = this.options
    const where = docsUrl === undefined ? occurrence : { ...occurrence, docsUrl }
    return { kind: 'answered', response: refuse(this.#rules.dialect, where) }
  }

  /** The store is down and the route lets requests through: the handler runs, and the answer says so. */
  #degraded(key: string): Protected {
    const answer = { status: 200, fate: 'unprotected', expiresInMs: null } as const
    const marks = freshMarks(this.#rules.dialect, { key, requestId: null }, answer)
    return { kind: 'bypassed', marks }
  }
}

/** Tells what the handler did from what the engine did. */
class WatchedHandler<Tx> {
  hasBegun = false
  /** What the handler threw: its own affair, also if it is an error of ours. */
  thrown: unknown
  readonly execute: Execute<Tx>

  constructor(execute: Execute<Tx>) {
    this.execute = async (run) => {
      this.hasBegun = true
      try {
        return await execute(run)
      } catch (error) {
        this.thrown = error
        throw error
      }
    }
  }
}

/** What is let through before its end would be committed before its end. */
function whole<Tx>(execute: Execute<Tx>): Execute<Tx> {
  return async (run) => {
    const response = await execute(run)
    if (response.bodyIsStream !== true) return response
    throw invalid(
      'the answer streams, and in transaction mode it has to be whole before the commit: raise bodyBytesMax, or leave transaction mode',
    )
  }
}

/** Whether the request may have been sent again by somebody else (RFC 8470). */
function isEarly(exchange: Exchange): boolean {
  return headerOf(exchange, 'early-data') === '1'
}

/** `Prefer: wait=n`, within the bound. */
function waitOf(exchange: Exchange, waitMsMax: number): { waitMs?: number } {
  const prefer = exchange.lines('prefer').join(',')
  const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer)?.[1]
  return seconds === undefined ? {} : { waitMs: Math.min(Number(seconds) * 1000, waitMsMax) }
}
