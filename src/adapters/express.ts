/**
 * Express 4 and 5.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { Reprise } from '../engine/reprise.ts'
import type { ParsedRequest } from './node-body.ts'
import { nodeExchange } from './node-exchange.ts'
import { protectNode, sendNode } from './node-protect.ts'
import type { HttpOptions } from './options.ts'
import { Guard } from './protect.ts'
import { giveRun, markProtected } from './run-of.ts'

export { runOf, txOf } from './run-of.ts'

/** What of an Express request is used; declared here so that Express stays the app's own choice. */
export interface ExpressRequest extends ParsedRequest {
  readonly originalUrl: string
  readonly baseUrl: string
  readonly route?: { readonly path?: unknown }
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
export function idempotent<Req extends ExpressRequest, Tx = never>(
  reprise: Reprise<Tx>,
  options: HttpOptions<Req, Tx>,
): ExpressMiddleware<Req> {
  const guard = new Guard<Req, Tx>(reprise, options)
  return async function idempotency(request, response, next) {
    if (!guard.guards(request.method ?? 'GET')) return next()
    try {
      markProtected(request)
      const { originalUrl: url, ip = null } = request
      const start = await protectNode({
        ...{ guard, request, response, onError: next },
        exchange: nodeExchange(request, { url, ip, route: routeOf(request) }),
        send: (answer) => sendNode(response, answer),
        begin: (run) => giveRun(request, run),
      })
      if (start === 'answered') return
    } catch (error) {
      return next(error)
    }
    next()
  }
}

/** The template of the route, where the middleware is mounted on one. */
function routeOf({ baseUrl, route }: ExpressRequest): string | null {
  return typeof route?.path === 'string' ? baseUrl + route.path : null
}
