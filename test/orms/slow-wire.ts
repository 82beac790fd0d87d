/**
 * A wire to the database that takes a while, and that can be cut.
 *
 * @module
 */

import { connect, createServer, type Socket } from 'node:net'

/** A wire before a PostgreSQL server. */
export interface SlowWire {
  /** The database's address through the wire. */
  readonly url: string
  /**
   * Cuts the connection that sends the next `COMMIT`.
   *
   * @param when - `after` the server has answered it, or `instead` of sending it
   */
  cutAtCommit(when: 'after' | 'instead'): void
  close(): Promise<void>
}

const COMMIT = /\bcommit\b/i

/** Opens a wire that delays whatever goes through it by `delayMs` in each direction. */
export async function openSlowWire(url: string, delayMs: number): Promise<SlowWire> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  let cut: 'after' | 'instead' | undefined
  const server = createServer((client) => {
    const upstream = connect(Number(target.port || 5432), target.hostname)
    const ends = [client, upstream]
    for (const socket of ends) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        for (const end of ends) end.destroy()
      })
    }
    const later = (run: () => void) => setTimeout(run, delayMs)
    let isCut = false
    client.on('data', (chunk) => {
      if (cut !== undefined && COMMIT.test(chunk.toString('latin1'))) {
        const when = cut
        cut = undefined
        isCut = true
        if (when === 'instead') {
          client.destroy()
          return
        }
      }
      later(() => upstream.write(chunk))
    })
    upstream.on('data', (chunk) => {
      later(() => {
        // The connection is cut when the answer is there: the server has done what it was told.
        if (isCut) client.destroy()
        else client.write(chunk)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The wire has no port.')
  const through = new URL(url)
  through.host = `127.0.0.1:${address.port}`
  return {
    url: through.href,
    cutAtCommit(when) {
      cut = when
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
