/**
 * Many connections to the one session that PGlite has: each gets it for a transaction at a time, as
 * behind a transaction pooler with a single connection to its server.
 *
 * @module
 */

import type { Socket } from 'node:net'
import type { PGlite } from '@electric-sql/pglite'

/** Codes of the messages without a type that a connection may begin with. */
const PROTOCOL_3 = 196_608
const SSL_REQUEST = 80_877_103
const GSS_REQUEST = 80_877_104

/** Types of the messages that end a group: what the server answers with "ready for query". */
const QUERY = 'Q'.charCodeAt(0)
const SYNC = 'S'.charCodeAt(0)
const TERMINATE = 'X'.charCodeAt(0)

/** What "ready for query" says outside of a transaction. */
const IDLE = 'I'.charCodeAt(0)

/** The gateway to one PGlite. */
export class PgliteGateway {
  readonly #database: Pick<PGlite, 'execProtocolRaw' | 'exec'>
  readonly #sockets = new Set<Socket>()
  #last: Promise<void> = Promise.resolve()

  constructor(database: Pick<PGlite, 'execProtocolRaw' | 'exec'>) {
    this.#database = database
  }

  /** Serves a connection until it ends. */
  serve(socket: Socket): void {
    this.#sockets.add(socket.setNoDelay())
    socket.on('error', () => {})
    this.#converse(socket)
      .catch(() => {})
      .finally(() => {
        this.#sockets.delete(socket)
        socket.destroy()
      })
  }

  /** Cuts all connections; resolves when the session is free. */
  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await this.#last
  }

  async #converse(socket: Socket): Promise<void> {
    let giveBack: (() => void) | undefined
    try {
      for await (const message of messagesOf(socket)) {
        if (message[0] === TERMINATE) return
        giveBack ??= await this.#turn()
        const isIdle = await this.#send(message, socket)
        if (!isIdle) continue
        giveBack()
        giveBack = undefined
      }
    } finally {
      // The connection was cut in the middle: what it began is undone before anybody else comes.
      if (giveBack !== undefined) {
        await this.#undo().finally(giveBack)
      }
    }
  }

  /** Passes a message on; answers whether the session can go to somebody else. */
  async #send(message: Buffer, socket: Socket): Promise<boolean> {
    const answer = await this.#database.execProtocolRaw(message)
    if (!socket.destroyed) socket.write(answer)
    const isEnd = message[0] === QUERY || message[0] === SYNC || message[0] === 0
    return isEnd && answer.at(-1) === IDLE
  }

  /** Ends a group of messages that lacks its end, and the transaction. */
  async #undo(): Promise<void> {
    await this.#database.execProtocolRaw(Uint8Array.of(SYNC, 0, 0, 0, 4))
    await this.#database.exec('rollback')
  }

  /** Waits for the session; gives what gives it back. */
  async #turn(): Promise<() => void> {
    const before = this.#last
    let giveBack: () => void = () => {}
    this.#last = new Promise((resolve) => {
      giveBack = resolve
    })
    await before
    return giveBack
  }
}

/** The whole messages of a connection, without the requests for encryption, which are declined. */
async function* messagesOf(socket: Socket): AsyncGenerator<Buffer> {
  let rest = Buffer.alloc(0)
  for await (const chunk of socket) {
    // A socket without an encoding gives buffers.
    rest = Buffer.concat([rest, chunk as Buffer])
    for (;;) {
      const length = lengthOf(rest)
      if (length === undefined || rest.length < length) break
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      const code = message[0] === 0 ? message.readInt32BE(4) : PROTOCOL_3
      if (code === SSL_REQUEST || code === GSS_REQUEST) socket.write('N')
      else if (code === PROTOCOL_3) yield message
      // What is left is a request to cancel: there is nothing to cancel but our own work.
      else return
    }
  }
}

/** Lengths have less than 2²⁴ bytes before a connection has begun, so those messages start with 0. */
function lengthOf(bytes: Buffer): number | undefined {
  if (bytes.length < 8 && (bytes.length < 5 || bytes[0] === 0)) return undefined
  return bytes[0] === 0 ? bytes.readInt32BE(0) : 1 + bytes.readInt32BE(1)
}
