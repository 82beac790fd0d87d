/**
 * The dashboard in Next.js (App Router): in `app/dashboard/[[...path]]/route.ts`.
 *
 * @module
 */

import type { Dashboard } from './dashboard.ts'

/** What Next gives a handler besides the request; the parameters are a promise from Next 15 on. */
export interface DashboardRouteContext {
  readonly params: unknown
}

/** A handler of Next. */
export type DashboardRouteHandler = (
  request: Request,
  context: DashboardRouteContext,
) => Promise<Response>

/**
 * The handlers of a catch-all route.
 *
 * @example
 * ```ts
 * export const { GET, POST } = dashboardRoute(dashboard)
 * export const dynamic = 'force-dynamic'
 * ```
 */
export function dashboardRoute(dashboard: Dashboard): {
  readonly GET: DashboardRouteHandler
  readonly POST: DashboardRouteHandler
} {
  const handle: DashboardRouteHandler = async (request, { params }) => {
    const rest = restOf(await params)
    const { pathname } = new URL(request.url)
    const parts = pathname.replace(/\/+$/, '').split('/')
    const base = parts.slice(0, parts.length - rest.length).join('/')
    const ip = request.headers.get('x-forwarded-for')?.split(',')[0]?.trim() ?? null
    return dashboard(request, { base, ip })
  }
  return { GET: handle, POST: handle }
}

/** What the catch-all caught, whatever it is called. */
function restOf(params: unknown): readonly unknown[] {
  const values = typeof params === 'object' && params !== null ? Object.values(params) : []
  return values.find((value) => Array.isArray(value)) ?? []
}
