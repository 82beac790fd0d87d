/**
 * A wire to a database that takes its time.
 *
 * @module
 */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A wire with latency. */
export interface SlowWire {
  /** The address of the database through the wire. */
  readonly url: string
  close(): Promise<void>
}

/** Lays a wire to the database at `url` on which everything takes `ms` milliseconds each way. */
export async function slowWire(url: string, ms: number): Promise<SlowWire> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    for (const socket of [client, upstream]) {
      sockets.add(socket.setNoDelay(true))
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        setTimeout(() => {
          client.destroy()
          upstream.destroy()
        }, ms)
      })
    }
    carry(client, upstream, ms)
    carry(upstream, client, ms)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The wire has no port.')
  const through = new URL(url)
  through.host = `127.0.0.1:${address.port}`
  return {
    url: through.href,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Passes on what comes, later and in order. */
function carry(from: Socket, to: Socket, ms: number): void {
  from.on('data', (chunk) => {
    setTimeout(() => {
      if (to.writable) to.write(chunk)
    }, ms)
  })
}
