/**
 * Koa 2 and 3.
 *
 * @module
 */

import { type IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { STORED } from '../core/dialects/marks.ts'
import { isLater } from '../core/later.ts'
import type { CapturedResponse, Header } from '../core/response.ts'
import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import { type AnswerContext, answerIn, giveAnswer } from './koa-answer.ts'
import { noop } from './node-calls.ts'
import type { NodeCapture } from './node-capture.ts'
import { NodeExchange } from './node-exchange.ts'
import { setHeaders, written } from './node-head.ts'
import { NodeProtection } from './node-protect.ts'
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
    if ((isLater(start) ? await start : start) === 'proceed') await protection.handle(next)
  }
}

/** One request that is protected: its answer stands in the context, or is written to the response. */
class KoaProtection<Ctx extends KoaContext, Tx> extends NodeProtection<Ctx, Tx> {
  /** What is written to the response; there once the handler is called. */
  #capture: NodeCapture | undefined
  /** Whether the answer is the one that stands in the context. */
  #isGiven = false
  /** Whether a middleware in front has answered while the handler was running. */
  #isEarly = false
  #isHandling = false
  #settle: (answer: CapturedResponse) => void = noop
  #fail: (error: unknown) => void = noop
  #concluded: Promise<void> | undefined
  #conclude: () => void = noop
  /** Why the answer in the context can not be sent. */
  #error: { readonly reason: unknown } | undefined

  /** Has the handler run; resolves when the middleware in front may go on. */
  async handle(next: () => Promise<unknown>): Promise<void> {
    const capture = this.#capture
    // Nothing is protected.
    if (capture === undefined) return void (await next())
    this.#isHandling = true
    try {
      await next()
    } catch (error) {
      if (this.#isEarly) this.#fail(error)
      throw error
    } finally {
      this.#isHandling = false
    }
    if (!(await this.#give(capture))) return
    await this.#concluded
    if (this.#error !== undefined) throw this.#error.reason
  }

  /** Takes the answer that stands in the context; says whether there is one. */
  async #give(capture: NodeCapture): Promise<boolean> {
    const ctx = this.subject
    const isWritten = () => !this.#isEarly && (ctx.respond === false || capture.hasBegun)
    if (isWritten()) return false
    try {
      const answer = await answerIn(ctx, this.captureOptions)
      // Koa 2 answers when a stream fails.
      if (answer === undefined || isWritten()) return false
      this.#isGiven = true
      this.#settle(answer)
      return true
    } catch (error) {
      // Koa 3 cuts the connection when a stream fails.
      if (this.#isEarly) this.#fail(error)
      else if (!isWritten()) this.response.destroy(asError(error))
      return false
    }
  }

  protected override answerOf(capture: NodeCapture): Promise<CapturedResponse> {
    this.#capture = capture
    this.#concluded = new Promise((resolve) => {
      this.#conclude = resolve
    })
    const answer = new Promise<CapturedResponse>((resolve, reject) => {
      this.#settle = resolve
      this.#fail = reject
    })
    // A middleware in front has answered before the claim was decided.
    if (this.response.headersSent) this.#onEarly(capture, [])
    capture.captured.then(
      (answer) => this.#onWritten(answer, capture),
      (error: unknown) => this.#fail(error),
    )
    return answer
  }

  #onWritten(answer: CapturedResponse, capture: NodeCapture): void {
    const ctx = this.subject
    const isByKoa = ctx.respond !== false && ctx.body != null
    if (!this.#isHandling || !isByKoa) return this.#settle(written(answer))
    // Koa sends a body only when all middleware is done: one in front did not wait for the handler.
    this.#onEarly(capture, [[STORED, 'false']])
  }

  #onEarly(capture: NodeCapture, marks: readonly Header[]): void {
    this.#isEarly = true
    capture.releaseEarly(marks)
    detach(this.subject, capture.headersBefore)
  }

  protected override onConcluded(): void {
    this.#conclude()
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

/** Gives a context a response that leads nowhere, for a handler that is still to answer. */
function detach(ctx: KoaContext, headers: readonly Header[]): void {
  const response = new ServerResponse(ctx.req)
  response.statusCode = 404
  setHeaders(response, headers)
  Object.assign(ctx, { res: response })
  const unset = { _body: undefined, _explicitStatus: false, _explicitNullBody: false }
  Object.assign(ctx.response, { res: response, ...unset })
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
