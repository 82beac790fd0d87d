/**
 * Apps to serve inside workerd. It opens its ports before any code runs, so there is a fixed number of them, and an app
 * takes the next one that is free.
 *
 * @module
 */

import type { Serve } from './adapters.ts'

/** How many apps can be served at the same time. */
export const DOORS = 4

/** As Cloudflare's platform calls it. */
type Handler = (request: Request, env: unknown, context: unknown) => Promise<Response>

const closed: Handler = async () => new Response('Nothing is served here', { status: 503 })
const handlers: Handler[] = Array.from({ length: DOORS }, () => closed)
let ports: readonly number[] = []

/** Says which ports the doors have. */
export function setPorts(all: readonly number[]): void {
  ports = all
}

/** The app behind a door, whichever it is. */
export function doorOf(door: number): { readonly fetch: Handler } {
  return { fetch: (...args) => (handlers[door] ?? closed)(...args) }
}

/** Serves an app behind the next free door. */
export const openDoor: Serve = async (fetch, errors) => {
  const door = handlers.indexOf(closed)
  const port = ports[door]
  if (port === undefined) throw new Error('Every door is taken')
  handlers[door] = async (...args) => {
    try {
      return await fetch(...args)
    } catch (error) {
      errors.push(error)
      return new Response('failed', { status: 500 })
    }
  }
  return {
    ...{ port, errors },
    async close() {
      handlers[door] = closed
    },
  }
}
