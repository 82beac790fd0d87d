/**
 * A wire to the database that counts flights, can be slow, and can be cut.
 *
 * @module
 */

import { connect, createServer, type Socket } from 'node:net'

/** When a connection is cut that sends a certain text. */
type CutTime = 'after' | 'instead'

/** A proxy before a PostgreSQL server. */
export interface Proxy {
  /** The database's address through the proxy. */
  readonly url: string
  /** How often something was sent after the server had been heard, since the last reset. */
  readonly flights: number
  /** What was sent since the last reset, as text; nothing before the first one. */
  readonly sent: string
  reset(): void
  /**
   * Cuts the connection that sends a text like this next.
   *
   * @param when - `after` the server has answered, or `instead` of sending it
   * @default 'after'
   */
  cutAt(text: RegExp, when?: CutTime): void
  /** Holds everything for `ms` milliseconds each way from now on, in order; 0 for not at all. */
  delay(ms: number): void
  close(): Promise<void>
}

interface State {
  flights: number
  /** There from the first reset on. */
  sent: string | undefined
  isServerHeard: boolean
  cut: { readonly text: RegExp; readonly when: CutTime } | undefined
  delayMs: number
}

/** Opens a proxy before the database at `url`, which holds everything for `delayMs` each way. */
export async function openProxy(url: string, delayMs = 0): Promise<Proxy> {
  const target = new URL(url)
  const sockets = new Set<Socket>()
  const state: State = {
    ...{ flights: 0, sent: undefined, isServerHeard: true, cut: undefined, delayMs },
  }
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
    const [toServer, toClient] = [inOrder(), inOrder()]
    for (const socket of ends) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        // Behind what is still held.
        const pass = socket === client ? toServer : toClient
        pass(() => {
          for (const end of ends) end.destroy()
        })
      })
    }
    let isCut = false
    client.on('data', (chunk: Buffer) => {
      if (state.isServerHeard) state.flights++
      state.isServerHeard = false
      if (state.sent !== undefined) state.sent += chunk.toString('latin1')
      const { cut } = state
      if (cut?.text.test(chunk.toString('latin1')) === true) {
        state.cut = undefined
        isCut = true
        if (cut.when === 'instead') return void client.destroy()
      }
      toServer(() => write(upstream, chunk))
    })
    upstream.on('data', (chunk: Buffer) => {
      state.isServerHeard = true
      toClient(() => {
        // Cut only when the answer is there, so that the server has done what it was told.
        if (isCut) client.destroy()
        else write(client, chunk)
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
      return state.sent ?? ''
    },
    reset: () => Object.assign(state, { flights: 0, sent: '' }),
    cutAt(text, when = 'after') {
      state.cut = { text, when }
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

/** Passes on what came, unless the other end has gone meanwhile. */
function write(to: Socket, chunk: Buffer): void {
  if (to.writable) to.write(chunk)
}
