import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'

/** A wire to a server that can be cut and mended. */
export interface Door {
  /** The server's address through the door. */
  readonly url: string
  /** Breaks every connection; new ones are refused. */
  shut(): Promise<void>
  /** Lets connections through again, at the same address. */
  open(): Promise<void>
}

/** Opens a door before the server at `url`; gone after the test. */
export async function openDoor(url: string): Promise<Door> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname)
    const ends = [client, upstream]
    client.pipe(upstream)
    upstream.pipe(client)
    for (const socket of ends) {
      sockets.add(socket)
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
  if (address === null || typeof address === 'string') throw new Error('The door has no port.')
  const { port } = address
  const shut = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    for (const socket of sockets) socket.destroy()
    await closed
  }
  onTestFinished(shut)
  return {
    url: `${target.protocol}//127.0.0.1:${port}`,
    shut,
    async open() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
}
