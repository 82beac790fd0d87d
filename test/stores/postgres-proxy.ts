/**
 * A wire to the database that counts flights, can be slow, and can be cut.
 *
 * @module
 */

import { connect, createServer, type Socket } from 'node:net'

/** A proxy before a PostgreSQL server. */
export interface Proxy {
  /** The database's address through the proxy. */
  readonly url: string
  /** How often something was sent after the server had been heard, since the last reset. */
  readonly flights: number
  /** What was sent since the last reset, as text. */
  readonly sent: string
  reset(): void
  /** Lets the next message that contains `text` through, and cuts the wire before its answer. */
  cutAfter(text: string): void
  /** Holds everything for `ms` milliseconds each way from now on, in order; 0 for not at all. */
  delay(ms: number): void
  close(): Promise<void>
}

/** Opens a proxy before the database at `url`. */
export async function openProxy(url: string): Promise<Proxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const state = { flights: 0, sent: '', isServerHeard: true, cut: '', delayMs: 0 }
  /** Passes things on in the order in which they came, each after the delay. */
  const inOrder = () => {
    const held: (() => void)[] = []
    return (pass: () => void) => {
      if (state.delayMs === 0 && held.length === 0) return pass()
      held.push(pass)
      setTimeout(() => held.shift()?.(), state.delayMs)
    }
  }
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
    let isCut = false
    const [toServer, toClient] = [inOrder(), inOrder()]
    client.on('data', (chunk) => {
      if (state.isServerHeard) state.flights++
      state.isServerHeard = false
      state.sent += chunk.toString('latin1')
      toServer(() => upstream.write(chunk))
      if (state.cut === '' || !chunk.includes(state.cut)) return
      state.cut = ''
      isCut = true
    })
    upstream.on('data', (chunk) => {
      state.isServerHeard = true
      toClient(() => {
        // Cut only when the answer is there, so that the server has done what it was told.
        if (isCut) client.destroy()
        else client.write(chunk)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  const through = new URL(url)
  through.host = `127.0.0.1:${address.port}`

  return {
    url: through.href,
    get flights() {
      return state.flights
    },
    get sent() {
      return state.sent
    },
    reset: () => Object.assign(state, { flights: 0, sent: '' }),
    cutAfter(text) {
      state.cut = text
    },
    delay(ms) {
      state.delayMs = ms
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
