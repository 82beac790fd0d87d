/** A payment provider that honours keys, keeps a ledger, and cuts every fifth connection. */

import { once } from 'node:events'
import { createServer } from 'node:http'

/** The provider. */
export interface Provider {
  readonly port: number
  /** How often each order was charged. */
  charges(): ReadonlyMap<string, number>
  close(): void
}

/** Starts it. */
export async function startProvider(): Promise<Provider> {
  const booked = new Map<string, string>()
  const server = createServer((request, response) => {
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
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}
