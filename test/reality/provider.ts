/** A payment provider that honours keys, keeps a ledger, and cuts every fifth connection. */

import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'

/** The provider. */
export interface Provider {
  readonly port: number
  /** How often each order was charged. */
  charges(): ReadonlyMap<string, number>
  /** How often each order was told of in a way that must not be repeated. */
  notices(): ReadonlyMap<string, number>
  close(): void
}

/** A request for an order, and what the provider has done. */
interface Told {
  readonly verb: string | undefined
  readonly order: string
  readonly booked: Map<string, string>
  readonly noticed: Map<string, number>
}

/** How much later than its connection broke a request may arrive, in milliseconds. */
const LATE_MS = 3000

/** Also a provider that hangs, and one that acts when nobody waits any more. */
function tell(request: IncomingMessage, response: ServerResponse, told: Told): void {
  const { verb, order, booked, noticed } = told
  const key = String(request.headers['idempotency-key'])
  if (verb === 'noticed') return void response.end(noticed.has(order) ? 'noticed' : 'unheard of')
  const act = () => {
    if (verb === 'charge' && !booked.has(key)) booked.set(key, order)
    if (verb === 'notice') noticed.set(order, (noticed.get(order) ?? 0) + 1)
  }
  const luck = Math.random()
  if (luck < 0.03) return void request.socket.destroy()
  if (luck < 0.06) {
    setTimeout(act, LATE_MS * Math.random()).unref()
    return void request.socket.destroy()
  }
  act()
  if (luck < 0.09) return void request.socket.destroy()
  // One in fifty is done and never answered.
  if (luck > 0.98) return
  response.end(verb)
}

/** Starts it. */
export async function startProvider(): Promise<Provider> {
  const booked = new Map<string, string>()
  const noticed = new Map<string, number>()
  const server = createServer((request, response) => {
    const [, verb, order] = request.url?.split('/') ?? []
    if (order !== undefined) return tell(request, response, { verb, order, booked, noticed })
    const key = String(request.headers['idempotency-key'])
    const luck = Math.random()
    if (luck < 0.1) return void request.socket.destroy()
    if (!booked.has(key)) booked.set(key, decodeURIComponent(request.url?.slice(1) ?? ''))
    if (luck < 0.2) return void request.socket.destroy()
    response.end('booked')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('It has no port.')
  return {
    port: address.port,
    charges() {
      const counted = new Map<string, number>()
      for (const order of booked.values()) counted.set(order, (counted.get(order) ?? 0) + 1)
      return counted
    },
    notices: () => noticed,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
