/**
 * A dashboard on a server of its own, with data in memory.
 *
 * @module
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createDashboard, type DashboardOptions } from '../../src/dashboard/index.ts'
import { dashboardListener } from '../../src/dashboard/node.ts'
import { type MemoryAdmin, memoryAdmin } from './memory-admin.ts'

/** The paths that it is tested at. The last is behind a proxy that takes the prefix away. */
export const BASES = ['/', '/a/b/', '/behind/proxy/'] as const

/** A dashboard that is served. */
export interface World {
  readonly admin: MemoryAdmin
  readonly origin: string
  /** Paths that were asked for, in order. */
  readonly asked: string[]
  /** How many streams are open. */
  streams(): number
  close(): Promise<void>
}

/** Serves one dashboard at three paths, and answers nothing else. */
export async function openWorld(options: Partial<DashboardOptions> = {}): Promise<World> {
  const admin = memoryAdmin('seeded', 24)
  const asked: string[] = []
  let streams = 0
  const settings: DashboardOptions = {
    ...{ admin, label: 'staging', labelColor: 'green', refreshMs: 100 },
    ...(options.authorize === undefined && { unsafeNoAuth: true }),
    ...options,
  }
  const dashboard = createDashboard(settings)
  const atRoot = dashboardListener(dashboard, { base: '/' })
  const below = dashboardListener(dashboard, { base: '/a/b' })
  const stripped = dashboardListener(dashboard)
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    const url = request.url ?? '/'
    asked.push(url)
    if (url.endsWith('/api/events')) {
      streams += 1
      response.once('close', () => {
        streams -= 1
      })
    }
    if (url === '/a/b' || url.startsWith('/a/b/')) return below(request, response)
    if (!url.startsWith('/behind/proxy')) return atRoot(request, response)
    request.url = url.slice('/behind/proxy'.length) || '/'
    request.headers['x-forwarded-prefix'] = '/behind/proxy'
    return stripped(request, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  // It listens on a port.
  const { port } = server.address() as AddressInfo
  return {
    ...{ admin, asked, origin: `http://127.0.0.1:${port}`, streams: () => streams },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
