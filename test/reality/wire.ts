/** A wire to a server that can be cut. */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'

/** A wire to a server on this machine. */
export interface Wire {
  readonly port: number
  /** Breaks everything that is open. */
  cut(): void
  close(): void
}

/** Lays a wire. */
export async function layWire(target: number): Promise<Wire> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const ends = [client, connect(target, '127.0.0.1')] as const
    client.pipe(ends[1]).pipe(client)
    for (const socket of ends) {
      sockets.add(socket.setNoDelay(true))
      // What breaks here is broken on purpose.
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const end of ends) end.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The wire has no port.')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    ...{ port: address.port, cut },
    close() {
      server.close()
      cut()
    },
  }
}
