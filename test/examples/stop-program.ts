/**
 * Starts an app, and stops it as the guide says when it is told to: for a test that wants to see the
 * process end.
 *
 * @module
 */

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'

/** What an app exports. */
interface App {
  readonly server?: Server
  readonly default?: { readonly fetch: (request: Request) => Promise<Response> }
  readonly POST?: (request: Request, context: object) => Promise<Response>
  /** Absent where the framework allows no such export: a route of Next. */
  readonly reprise?: { close(): Promise<void> }
  readonly pool?: { end(): Promise<void> }
}

/** What the program is told. */
export interface StopTask {
  /** The module that starts the app. */
  readonly module: string
  /** Whether the pool is ended before the engine is closed, against the guide. */
  readonly isPoolFirst: boolean
}

const task: StopTask = JSON.parse(process.argv[2] ?? '')
const app: App = await import(task.module)
const server = app.server ?? (serve({ fetch: answer, port: 0 }) as Server)
if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))

process.once('SIGTERM', () => void stop())

async function stop(): Promise<void> {
  const startedAt = performance.now()
  process.once('exit', (code) => {
    const ms = performance.now() - startedAt
    process.send?.({ code, ms, left: process.getActiveResourcesInfo() })
  })
  server.close()
  if (task.isPoolFirst) await app.pool?.end()
  await app.reprise?.close()
  if (!task.isPoolFirst) await app.pool?.end()
}
// A server that listens on a port has an address of this kind.
const { port } = server.address() as AddressInfo
process.send?.({ port })

function answer(request: Request): Promise<Response> {
  const { POST, default: exported } = app
  if (POST !== undefined) return POST(request, { params: Promise.resolve({}) })
  if (exported === undefined) throw new Error('The app exports nothing to send requests to.')
  return exported.fetch(request)
}
