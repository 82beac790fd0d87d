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
import type { KeyResult } from '../core/key.ts'
import { checkFunctions, pickNames, RUN_NAMES } from '../core/known-options.ts'
import { isLater } from '../core/later.ts'
import { invalid, type RunOptions } from '../core/options.ts'
import type { Occurrence } from '../core/problem.ts'
import type { CapturedResponse, Delivery, Header } from '../core/response.ts'
import { started } from '../engine/bounded.ts'
import { systemRandom } from '../engine/clock.ts'
import type { RunRequest } from '../engine/job.ts'
import type { AnyReprise } from '../engine/reprise.ts'
import type { Replayed, RunResult } from '../engine/result.ts'
import { omittedBytes } from '../engine/seal.ts'
import type { Servable } from '../engine/servable.ts'
import type { Isolation } from '../engine/transactions.ts'
import { inAcceptedCoding } from './content-coding.ts'
import { type Asked, type Exchange, isEarly } from './exchange.ts'
import { readKey } from './key-source.ts'
import { type CaptureOptions, type HttpOptions, type RouteRules, resolveRules } from './options.ts'
import { digested, type LookedAt, lookAt, operationOf } from './run-request.ts'
import { Asking, type EarlyMarks, type Execute, type HttpRun } from './watched-handler.ts'

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
  readonly rules: RouteRules
  readonly #reprise: AnyReprise<Tx>
  /** Whether an answer is given once. */
  readonly #isSensitive: boolean

  /**
   * @param handler - whether the adapter can call the handler again for the same request; where it
   * can not, a transaction that loses to others is not retried here but by the client
   * and, as `own`, the names of options that are the adapter's own
   * @throws RepriseError `reprise-options-invalid`
   */
  constructor(
    reprise: AnyReprise<Tx>,
    options: HttpOptions<Req, Tx>,
    handler: { readonly isRepeatable: boolean; readonly own?: readonly string[] } = {
      isRepeatable: false,
    },
  ) {
    this.options = options
    if (typeof Reflect.get(Object(reprise), 'caller') === 'function') {
      throw invalid('the arguments are swapped: give idempotent(reprise, { caller })')
    }
    checkFunctions(
      reprise,
      ['run', 'with'],
      'the first argument of idempotent() must be what createReprise() made',
    )
    this.rules = resolveRules(options, handler.own ?? [])
    this.#isSensitive = (options.serve?.isSensitive ?? options.sensitive) === true
    if (options.transaction || options.claim) reprise.checkTransaction(options)
    const given = pickNames<RunOptions>(options, RUN_NAMES)
    const own = reprise.with(handler.isRepeatable ? given : { ...given, transactionAttemptsMax: 1 })
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
    return this.rules.methods.has(method.toUpperCase())
  }

  /** Whether this request is to be protected; the listener is told of one that is not. */
  takes(exchange: Asked): boolean {
    if (this.guards(exchange.method)) return true
    this.#bypass(exchange)
    return false
  }

  /**
   * Takes a request through the protocol. What the handler throws is thrown. An answer for which nothing
   * has to be waited for comes at once, without a promise: most that are given again do.
   */
  protect(
    request: Req,
    exchange: Exchange,
    execute: Execute<Tx>,
  ): Protected | PromiseLike<Protected> {
    const asked = new Asking(request, exchange, execute)
    try {
      const found = readKey(request, exchange, this)
      const step = isLater(found)
        ? found.then((key) => this.#keyed(asked, key))
        : this.#keyed(asked, found)
      return isLater(step) ? step.then(undefined, (error) => this.#failed(asked, error)) : step
    } catch (error) {
      return started(async () => this.#failed(asked, error))
    }
  }

  #keyed(asked: Asking<Req, Tx>, found: KeyResult): Protected | PromiseLike<Protected> {
    const { exchange } = asked
    const refusal = found.kind === 'key' ? undefined : this.#withoutKey(found, exchange)
    if (refusal !== undefined) return refusal
    // What runs in phases has a record in any case: without one nobody could take it up again.
    const key = found.kind === 'key' ? found.key : systemRandom.token()
    asked.key = key
    const look = lookAt(asked, this, key)
    return isLater(look) ? look.then((run) => this.#looked(asked, run)) : this.#looked(asked, look)
  }

  #looked(asked: Asking<Req, Tx>, run: LookedAt): Protected | PromiseLike<Protected> {
    asked.run = run
    const { serve, keyAge } = this.options
    keyAge?.checkRetention(this.#reprise.options.retentionMs(run.caller))
    if (serve !== undefined) return this.#serve(serve, asked, run)
    const recalled = this.#reprise.recall(run)
    if (recalled !== undefined) return this.#answer(asked, run, recalled)
    const marks: EarlyMarks = (status) => this.#earlyMarks(run, status)
    return this.#run(digested(run), (handling) => asked.execute(handling, marks)).then((result) =>
      this.#answer(asked, run, result),
    )
  }

  /** The headers of an answer that a middleware in front gives while the handler runs. */
  #earlyMarks({ key, origin }: LookedAt, status: number): readonly Header[] {
    const answer = { status, fate: 'suspended', expiresInMs: null, bodyBytesOmitted: null } as const
    return freshMarks(this.rules.dialect, { key, requestId: origin.requestId }, answer)
  }

  async #serve(serve: Servable, asked: Asking<Req, Tx>, run: LookedAt): Promise<Protected> {
    const result = await serve.serve(digested(run), () => this.#input(serve, asked))
    if (result.outcome !== 'rejected') return this.#answer(asked, run, result)
    return this.#reject(asked.exchange, { ...result.occurrence, key: run.key })
  }

  /** What is answered to a request that came to nothing; throws what is not the client's business. */
  #failed(asked: Asking<Req, Tx>, error: unknown): Protected {
    const { exchange, key, run } = asked
    const isOurs = isRepriseError(error) && error !== asked.thrown
    if (isOurs && key !== undefined && this.#isUnreadable(error, asked.hasBegun)) {
      return this.#refused({ ...RESULT_GONE, key })
    }
    if (!isOurs || !isClientErrorCode(error.code)) throw error
    const isDown = error.code === STORE_UNAVAILABLE.code && !asked.hasBegun
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

  /**
   * Whether there is an answer that nobody can open: damaged, or sealed with a key that is missing.
   * The listener was told; what is stored of an operation in phases may also be its input.
   */
  #isUnreadable({ code }: RepriseError, hasBegun: boolean): boolean {
    return code === SEAL_BROKEN.code && !hasBegun && this.options.serve === undefined
  }

  async #input(serve: Servable, asked: Asking<Req, Tx>): Promise<unknown> {
    const { input } = this.options
    if (input !== undefined) return input(asked.request)
    const { fingerprint } = this.rules
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
    if (this.rules.required) return this.#reject(exchange, KEY_MISSING)
    if (isEarly(exchange)) return this.#reject(exchange, TOO_EARLY)
    if (this.options.serve !== undefined) return undefined
    this.#bypass(exchange)
    return BYPASSED
  }

  #bypass(exchange: Asked): void {
    this.#reprise.skip({ type: 'bypassed', operation: operationOf(exchange, this.options) })
  }

  /** Refuses a request that the store was not asked about. */
  #reject(exchange: Exchange, occurrence: Occurrence): Protected {
    const { code } = occurrence
    this.#reprise.skip({ type: 'rejected', operation: operationOf(exchange, this.options), code })
    return this.#refused(occurrence)
  }

  #run(
    request: RunRequest,
    execute: (run: HttpRun<Tx>) => Promise<CapturedResponse>,
  ): Promise<RunResult> {
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

  #answer(
    asked: Asking<Req, Tx>,
    run: LookedAt,
    result: RunResult,
  ): Protected | PromiseLike<Protected> {
    const { dialect } = this.rules
    switch (result.outcome) {
      case 'executed':
      case 'resumed': {
        const { response, fate, expiresInMs } = result
        const bodyBytesOmitted = omittedBytes(response, this.#reprise.options.bodyBytesMax)
        const answer = { status: response.status, fate, expiresInMs, bodyBytesOmitted }
        const keyed = { key: run.key, requestId: run.origin.requestId }
        const marks = freshMarks(dialect, keyed, answer)
        if (asked.hasBegun) return { kind: 'executed', marks }
        // A `recover()` function answered: no handler has run whose answer could be sent.
        const headers = [...response.headers, ...marks]
        return { kind: 'answered', response: { ...response, headers } }
      }
      case 'replayed': {
        const { authorizeReplay } = this.options
        const permission: unknown = authorizeReplay === undefined || authorizeReplay(asked.request)
        return isLater(permission)
          ? permission.then((given) => this.#replay(given, asked, result))
          : this.#replay(permission, asked, result)
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

  /** Nothing but `true` is a permission: a function that forgot to answer gives none. */
  #replay(
    permission: unknown,
    { exchange, run }: Asking<Req, Tx>,
    replayed: Replayed,
  ): Protected | PromiseLike<Protected> {
    if (run === undefined) throw new TypeError('A request that was not looked at has no replay.')
    if (permission !== true) return this.#refused({ ...REPLAY_FORBIDDEN, key: run.key })
    const { response } = replayed
    if (this.#isSensitive && response.bodyBytesOmitted !== null) {
      return this.#refused({ ...RESULT_GONE, key: run.key })
    }
    const given = inAcceptedCoding(response, () => exchange.lines('accept-encoding').join(','))
    return isLater(given)
      ? given.then((decoded) => this.#replayed(run, replayed, decoded))
      : this.#replayed(run, replayed, given)
  }

  #replayed(
    run: LookedAt,
    { requestId, expiresInMs }: Replayed,
    { status, headers, body, bodyBytesOmitted, delivery }: Replayed['response'],
  ): Protected {
    const { dialect } = this.rules
    const replay = { status, bodyBytesOmitted, originalRequestId: requestId, expiresInMs }
    const marked = [...headers, ...replayMarks(dialect, run, replay)]
    const replayStatus = replayStatusOf(dialect, status)
    const given = replayStatus === status ? delivery : withoutMessage(delivery)
    return {
      kind: 'answered',
      response: { status: replayStatus, headers: marked, body, delivery: given },
    }
  }

  #refused(occurrence: Occurrence): Protected {
    const { docsUrl } = this.options
    const where = docsUrl === undefined ? occurrence : { ...occurrence, docsUrl }
    return { kind: 'answered', response: refuse(this.rules.dialect, where) }
  }

  /** The store is down and the route lets requests through: the handler runs, and the answer says so. */
  #degraded(exchange: Exchange, key: string): Protected {
    this.#bypass(exchange)
    const keyed = { key, requestId: null }
    const marks = freshMarks(this.rules.dialect, keyed, {
      status: 200,
      fate: 'unprotected',
      expiresInMs: null,
      bodyBytesOmitted: null,
    })
    return { kind: 'bypassed', marks }
  }
}

/** The delivery for another status, which has another reason phrase. */
function withoutMessage(delivery: Delivery | undefined): Delivery | undefined {
  if (delivery === undefined) return undefined
  const { statusMessage: _, ...rest } = delivery
  return rest
}
