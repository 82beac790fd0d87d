/**
 * Koa 2 and 3.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Context } from 'koa'
import { isLater } from '../core/later.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import type { HandlerContext } from './handler-context.ts'
import { NodeExchange } from './node-exchange.ts'
import { groupHeaders } from './node-head.ts'
import { NodeProtection } from './node-protect.ts'
import { TwoSidedProperty } from './node-sides.ts'
import { type HttpOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'
import { markProtected } from './run-of.ts'

export { runOf, txOf } from './run-of.ts'

/** What of a Koa context is used, in every version. */
export interface KoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Where body parsers leave their result. */
  readonly request: object
  readonly method: string
  readonly originalUrl: string
  readonly ip: string
  /** The template of the route, left by routers. */
  readonly _matchedRoute?: unknown
  readonly response: object
  readonly app: object
  status: number
  body: unknown
  set(name: string, value: string | string[]): void
  remove(name: string): void
  onerror(error: Error): void
}

/** How a Koa app has a request answered; its types do not name it. */
interface KoaApp {
  handleRequest(ctx: KoaContext, middleware: (ctx: KoaContext) => Promise<void>): unknown
}

/** A middleware, as Koa calls it. */
export type KoaMiddleware<Ctx> = (ctx: Ctx, next: () => Promise<unknown>) => Promise<void>

/**
 * Makes the routes behind it safe to send again. Put it after authentication, before or after the
 * body parser. The handler finds its run by `runOf(ctx)`.
 *
 * Koa sends an answer when all middleware is done: by then this one has returned, and what Koa sends
 * is stored first.
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

/** Where Koa keeps an answer that it has not sent yet, besides the head of the response. */
const KEPT = ['_body', '_explicitStatus', '_explicitNullBody']

class KoaProtection<Ctx extends KoaContext, Tx> extends NodeProtection<Ctx, Tx> {
  #kept: readonly TwoSidedProperty[] = []

  protected override divide(handler: HandlerContext): void {
    const { response } = this.subject
    this.#kept = KEPT.map((name) => new TwoSidedProperty(response, name, handler))
  }

  protected override unite(): void {
    for (const kept of this.#kept) kept.lift()
  }

  /** Has Koa answer as it would have, had nobody in front done so before. */
  protected override finishLate(): void {
    const { app, res } = this.subject
    const { statusCode } = res
    // Koa would say 404 for a handler that has written its answer past Koa.
    if (statusCode === 404 && this.#kept.every(({ own }) => own === undefined)) return
    // Every version has it.
    const answering = app as KoaApp
    answering.handleRequest(this.subject, async () => {
      // Koa begins with a 404.
      res.statusCode = statusCode
    })
  }

  protected override send(answer: CapturedResponse): void {
    if (this.hasBegun) super.send(answer)
    else respond(this.subject, answer)
  }

  protected override onError(error: unknown): void {
    this.subject.onerror(asError(error))
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

/** Has Koa send an answer, so that the middleware before this one can do its part. */
function respond(ctx: KoaContext, { status, headers, body }: CapturedResponse): void {
  ctx.status = status
  ctx.body = Buffer.from(body)
  // Koa has made a guess.
  ctx.remove('Content-Type')
  for (const [name, lines] of groupHeaders(headers)) ctx.set(name, lines)
}

function routeOf({ _matchedRoute: route }: KoaContext): string | null {
  return typeof route === 'string' ? route : null
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
