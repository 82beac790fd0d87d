/**
 * The dashboard in Fastify 4 and 5, and in NestJS on Fastify.
 *
 * @module
 */

import type { FastifyInstance } from 'fastify'
import type { Dashboard } from './dashboard.ts'
import { serveNode } from './node.ts'

/** Settings of the plugin. */
export interface DashboardPluginOptions {
  /** What `createDashboard` made. */
  readonly dashboard: Dashboard
}

/**
 * A plugin: the prefix that it is registered with is where the dashboard is.
 *
 * @example
 * ```ts
 * await app.register(dashboardPlugin, { prefix: '/dashboard', dashboard })
 * ```
 */
export async function dashboardPlugin(
  app: FastifyInstance,
  { dashboard }: DashboardPluginOptions,
): Promise<void> {
  // Bodies are left as they come; only the routes of this plugin are meant.
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', (_, __, done) => done(null, undefined))
  for (const url of ['/', '/*']) {
    app.route({
      ...{ method: ['GET', 'HEAD', 'POST'], url, exposeHeadRoute: false },
      handler: (request, reply) => {
        reply.hijack()
        const { originalUrl, ip } = request
        const mount = { url: originalUrl, base: app.prefix, ip }
        return serveNode(dashboard, { request: request.raw, response: reply.raw }, mount)
      },
    })
  }
}
