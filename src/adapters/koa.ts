/**
 * Koa 2 and 3.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import type { Context } from 'koa'
import { isLater } from '../core/later.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import type { HandlerContext } from './handler-context.ts'
import { type AnswerContext, answerIn, giveAnswer } from './koa-answer.ts'
import { noop } from './node-calls.ts'
import type { NodeCapture } from './node-capture.ts'
import { NodeExchange } from './node-exchange.ts'
import { written } from './node-head.ts'
import { NodeProtection } from './node-protect.ts'
import { TwoSidedProperty } from './node-sides.ts'
import { type HttpOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'
import { markProtected } from './run-of.ts'

export { runOf, txOf } from './run-of.ts'

/** What of a Koa context is used, in every version. */
export interface KoaContext extends AnswerContext {
  readonly req: IncomingMessage
  /** Where body parsers leave their result. */
  readonly request: object
  readonly method: string
  readonly originalUrl: string
  readonly ip: string
  /** The template of the route, left by routers. */
  readonly _matchedRoute?: unknown
  onerror(error: Error): void
}

/** A middleware, as Koa calls it. */
export type KoaMiddleware<Ctx> = (ctx: Ctx, next: () => Promise<unknown>) => Promise<void>

/**
 * Makes the routes behind it safe to send again. Put it after authentication, before or after the
 * body parser. The handler finds its run by `runOf(ctx)`.
 *
 * What stands in the context when the handler is done is stored, and a replay puts it there again: the
 * middleware in front does the same to both. What the handler writes to `ctx.res` itself is stored as it
 * is written; so is what is made of an error that it throws.
 *
 * @example
 * ```ts
 * router.post('/charges', idempotent(reprise, { caller: (ctx) => ctx.state.user.id }), createCharge)
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function idempotent<Ctx extends KoaContext = Context, Tx = never>(
  reprise: Reprise<Tx>,
  options: HttpOptions<Ctx, Tx>,
): KoaMiddleware<Ctx> {
  const guard = new Guard<Ctx, Tx>(reprise, options)
  return async function idempotency(ctx, next) {
    const { req, res, originalUrl: url, ip, request: parsed } = ctx
    const exchange = new NodeExchange(req, { url, ip, parsed, route: routeOf(ctx) })
    if (!guard.takes(exchange)) {
      await next()
      return
    }
    markProtected(ctx)
    const protection = new KoaProtection({ guard, subject: ctx, response: res })
    const start = protection.protect(exchange)
    if ((isLater(start) ? await start : start) === 'proceed') await protection.handleNext(next)
  }
}

/** Where Koa keeps an answer that it has not sent yet, besides the head of the response. */
const KEPT = ['_body', '_explicitStatus', '_explicitNullBody']

/** One request that is protected: its answer stands in the context, or is written to the response. */
class KoaProtection<Ctx extends KoaContext, Tx> extends NodeProtection<Ctx, Tx> {
  #kept: readonly TwoSidedProperty[] = []
  /** What stood there before anything was waited for. */
  readonly #before = KEPT.map((name): unknown => Reflect.get(this.subject.response, name))
  /** Whether the answer is the one that stands in the context. */
  #isGiven = false
  /** Resolves when the answer is stored, or another is in its place. */
  #concluded: Promise<void> | undefined
  #conclude: () => void = noop
  #isConcluded = false
  /** Why the answer in the context can not be sent. */
  #error: { readonly reason: unknown } | undefined

  /** Has the handler run; resolves when the middleware in front may go on. */
  async handleNext(next: () => Promise<unknown>): Promise<void> {
    // Nothing is protected.
    if (!this.hasBegun) return void (await next())
    await this.handle(async () => {
      await next()
      await this.#give()
    })
    if (!this.#isGiven) return
    await this.#concluded
    if (this.#error !== undefined) throw this.#error.reason
  }

  /** Takes the answer that stands in the context, if there is one: called as a part of the handler. */
  async #give(): Promise<void> {
    const ctx = this.subject
    const isWritten = () => ctx.respond === false || this.hasWritten
    if (isWritten()) return
    // A callback may have lost track of its request: then what it has left there is the handler's.
    if (!this.isAnsweredEarly && !this.#kept.some(({ isOwn }) => isOwn)) this.joinSides()
    try {
      const answer = await answerIn(ctx, this.captureOptions)
      // Koa 2 answers when a stream fails.
      if (answer === undefined || isWritten()) return
      this.#isGiven = true
      this.take(answer)
    } catch (error) {
      // Koa destroys the stream of a handler when a middleware in front has answered.
      if (this.isAnsweredEarly) this.abandon(error)
      // Koa 3 cuts the connection when a stream fails.
      else if (!isWritten()) this.response.destroy(asError(error))
    }
  }

  /** While the answer in the context is being stored, whoever writes is in front. */
  override get isForeign(): boolean {
    return super.isForeign || (this.#isGiven && !this.#isConcluded)
  }

  protected override answerOf(capture: NodeCapture): Promise<CapturedResponse> {
    this.#concluded = new Promise((resolve) => {
      this.#conclude = resolve
    })
    const answer = super.answerOf(capture)
    return answer.then((given) => (this.#isGiven ? given : written(given)))
  }

  protected override onConcluded(): void {
    this.#isConcluded = true
    this.#conclude()
  }

  protected override divide(handler: HandlerContext): void {
    const { response } = this.subject
    this.#kept = KEPT.map((name) => new TwoSidedProperty(response, name, handler))
    if (!this.isAnsweredEarly) return
    for (const [at, kept] of this.#kept.entries()) kept.own = this.#before[at]
  }

  protected override joinSides(): void {
    super.joinSides()
    for (const kept of this.#kept) kept.join()
  }

  protected override unite(): void {
    for (const kept of this.#kept) kept.lift()
  }

  protected override send(answer: CapturedResponse): void {
    if (this.hasBegun && !this.#isGiven) super.send(answer)
    else giveAnswer(this.subject, answer)
  }

  protected override onError(error: unknown): void {
    if (this.#isGiven) this.#error = { reason: error }
    else this.subject.onerror(asError(error))
  }
}

/**
 * Has an operation in phases answer requests: its input is what the body says.
 *
 * @example
 * ```ts
 * router.post('/rides', serve(createRide, { caller: (ctx) => ctx.state.user.id }))
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function serve<Ctx extends KoaContext = Context>(
  operation: Servable,
  options: ServeOptions<Ctx>,
): KoaMiddleware<Ctx> {
  return idempotent<Ctx, unknown>(operation.reprise, serving(operation, options))
}

function routeOf({ _matchedRoute: route }: KoaContext): string | null {
  return typeof route === 'string' ? route : null
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
