/**
 * The dashboard in Koa 2 and 3.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Dashboard } from './dashboard.ts'
import { isBelow, serveNode } from './node.ts'

/** What of a Koa context is used, in every version. */
export interface DashboardKoaContext {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  /** Where body parsers leave their result. */
  readonly request: object
  readonly originalUrl: string
  readonly ip: string
  respond?: boolean
}

/**
 * A middleware for everything below `base`.
 *
 * @example
 * ```ts
 * app.use(dashboardMiddleware(dashboard, '/dashboard'))
 * ```
 */
export function dashboardMiddleware(
  dashboard: Dashboard,
  base: string,
): (ctx: DashboardKoaContext, next: () => Promise<unknown>) => Promise<void> {
  return async (ctx, next) => {
    const { req, res: response, originalUrl: url, ip } = ctx
    if (!isBelow(url, base)) {
      await next()
      return
    }
    // Koa leaves a response alone that is marked so.
    ctx.respond = false
    const body = 'body' in ctx.request ? ctx.request.body : undefined
    const request = body === undefined ? req : Object.assign(req, { body })
    await serveNode(dashboard, { request, response }, { url, base, ip })
  }
}
