/**
 * The dashboard in Express 4 and 5, and in NestJS on Express.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { Dashboard } from './dashboard.ts'
import { type NodeRequest, serveNode } from './node.ts'

/** What of an Express request is used, in every version. */
export interface DashboardExpressRequest extends NodeRequest {
  readonly originalUrl: string
  readonly baseUrl: string
  readonly ip?: string | undefined
}

/**
 * A middleware: mount it with `app.use`.
 *
 * @example
 * ```ts
 * app.use('/dashboard', dashboardMiddleware(dashboard))
 * ```
 */
export function dashboardMiddleware(
  dashboard: Dashboard,
): (request: DashboardExpressRequest, response: ServerResponse) => void {
  return (request, response) => {
    const { originalUrl: url, baseUrl: base, ip = null } = request
    void serveNode(dashboard, { request, response }, { url, base, ip })
  }
}
