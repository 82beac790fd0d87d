/**
 * The dashboard in Hono 4.
 *
 * @module
 */

import type { Context } from 'hono'
import type { Dashboard } from './dashboard.ts'

/**
 * A handler for a path that ends in `/*`.
 *
 * @example
 * ```ts
 * app.all('/dashboard/*', dashboardHandler(dashboard))
 * ```
 */
export function dashboardHandler(dashboard: Dashboard): (c: Context) => Promise<Response> {
  return (c) => {
    const base = baseOf(c)
    return dashboard(c.req.raw, { ip: ipOf(c), ...(base === undefined ? {} : { base }) })
  }
}

/** The part of the path that the route's pattern names before its `*`. */
function baseOf({ req }: Context): string | undefined {
  // Hono would rather have a function of its own called, which would have to be imported.
  const { matchedRoutes } = req as { readonly matchedRoutes?: readonly { path: string }[] }
  const pattern = matchedRoutes?.[req.routeIndex]?.path
  if (pattern === undefined || !pattern.endsWith('/*') || /[:{]/.test(pattern)) return undefined
  return pattern.slice(0, -'/*'.length)
}

/** The client's address, where Hono runs on Node. */
function ipOf({ env }: Context): string | null {
  // Whatever the platform gives; Node's server gives the request it was made of.
  const { incoming } = (env ?? {}) as { incoming?: { socket?: { remoteAddress?: string } } }
  return incoming?.socket?.remoteAddress ?? null
}
