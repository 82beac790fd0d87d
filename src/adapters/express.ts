/**
 * Express 3, 4 and 5.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import { isLater } from '../core/later.ts'
import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import { mountTemplate } from './express-template.ts'
import type { ParsedRequest } from './node-body.ts'
import { NodeExchange } from './node-exchange.ts'
import { NodeProtection } from './node-protect.ts'
import { type HttpOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'
import { markProtected } from './run-of.ts'

export { runOf, txOf } from './run-of.ts'

/** What of an Express request is used, in every version. */
export interface ExpressRequest extends ParsedRequest {
  readonly originalUrl: string
  /** From version 4 on. */
  readonly baseUrl?: string
  readonly route?: { readonly path?: unknown }
  /** The app that the route is in, from version 3 on. */
  readonly app?: unknown
  readonly ip?: string | undefined
}

/** A middleware, as Express calls it. */
export type ExpressMiddleware<Req> = (
  request: Req,
  response: ServerResponse,
  next: (error?: unknown) => void,
) => Promise<void>

/**
 * Makes the routes behind it safe to send again. Put it after authentication, before or after the
 * body parser.
 *
 * @example
 * ```ts
 * app.post('/charges', idempotent(reprise, { caller: (req) => req.user.id }), createCharge)
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function idempotent<Req extends ExpressRequest = Request, Tx = never>(
  reprise: Reprise<Tx>,
  options: HttpOptions<Req, Tx>,
): ExpressMiddleware<Req> {
  const guard = new Guard<Req, Tx>(reprise, options)
  return async function idempotency(request, response, next) {
    const { originalUrl: url } = request
    const exchange = new NodeExchange(request, { url, ip: request.ip, route: routeOf(request) })
    if (!guard.takes(exchange)) return next()
    let protection: NodeProtection<Req, Tx>
    try {
      markProtected(request)
      const parts = { guard, subject: request, response, onError: next }
      protection = new NodeProtection(parts)
      const start = protection.protect(exchange)
      if ((isLater(start) ? await start : start) === 'answered') return
    } catch (error) {
      return next(error)
    }
    if (protection.isAnsweredEarly) protection.handle(next)
    else next()
  }
}

/**
 * Has an operation in phases answer requests: its input is what the body says.
 *
 * @example
 * ```ts
 * app.post('/rides', serve(createRide, { caller: (req) => req.user.id }))
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function serve<Req extends ExpressRequest = Request>(
  operation: Servable,
  options: ServeOptions<Req>,
): ExpressMiddleware<Req> {
  return idempotent<Req, unknown>(operation.reprise, serving(operation, options))
}

/** The template of the route, where the middleware is mounted on one. */
function routeOf(request: ExpressRequest): string | null {
  const path = request.route?.path
  return typeof path === 'string' ? mountTemplate(request) + path : null
}
