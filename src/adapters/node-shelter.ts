/**
 * Keeps from everybody in this process that a client has gone away, until its answer is stored.
 *
 * A client that disconnects cancels nothing. Frameworks think otherwise: told of a closed connection
 * they stop streams and never end the response, and the record would stay in progress for ever. So
 * the events that tell of it are withheld while a request is protected, and given afterwards.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { isComplete } from './node-body.ts'
import { Cover } from './node-cover.ts'

/** A request that is sheltered. */
interface Guest {
  readonly request: IncomingMessage
  /** This process itself cuts the connection. */
  readonly onCut: () => void
}

/** One for each connection, because requests can be pipelined. */
const shelters = new WeakMap<Duplex, Shelter>()

/**
 * Shelters a request once it has been received whole. The function that it returns ends it, and is
 * to be called right before the answer is sent.
 *
 * @param onCut - called when this process itself cuts the connection, as frameworks do when an error
 * comes after the head of a response
 */
export function shelter(request: IncomingMessage, onCut: () => void): () => void {
  const connection = connectionOf(request)
  // A request that was injected in a test has none.
  if (connection === undefined) return () => {}
  const place = shelters.get(connection) ?? new Shelter(connection)
  return place.enter({ request, onCut })
}

/** What tells that the other side has gone. The end of an HTTP/2 stream is only that of its body. */
const PARTING: ReadonlySet<unknown> = new Set(['error', 'aborted', 'close'])

class Shelter {
  readonly #connection: Duplex
  readonly #guests = new Set<Guest>()
  readonly #withheld: unknown[][] = []
  readonly #cover: Cover

  constructor(connection: Duplex) {
    this.#connection = connection
    this.#cover = new Cover(connection)
    shelters.set(connection, this)
    this.#cover.method('emit', (args) => this.#emit(args))
    this.#cover.method('destroy', (args) => this.#destroy(args))
    this.#cover.property('writable', () => true)
    this.#cover.property('destroyed', () => false)
  }

  enter(guest: Guest): () => void {
    this.#guests.add(guest)
    return () => {
      this.#guests.delete(guest)
      if (this.#guests.size === 0) this.#close()
    }
  }

  #close(): void {
    if (this.#cover.isLifted) return
    this.#cover.lift()
    shelters.delete(this.#connection)
    // The answer goes first: a client that has only ended its side still reads.
    process.nextTick(() => {
      for (const args of this.#withheld) this.#cover.call('emit', args)
    })
  }

  #emit(args: unknown[]): unknown {
    // Whoever still reads a body has to know that the rest will not come.
    const isParting = PARTING.has(args[0]) || (args[0] === 'end' && this.#isSocket)
    if (!isParting || !this.#isReceived) return this.#cover.call('emit', args)
    this.#withheld.push(args)
    return true
  }

  /** Errors and ends come from the other side. */
  #destroy(args: unknown[]): unknown {
    const isOwn = args[0] == null && !this.#connection.readableEnded && this.#isReceived
    const result = this.#cover.call('destroy', args)
    if (isOwn) for (const { onCut } of this.#guests) onCut()
    return result
  }

  get #isSocket(): boolean {
    return this.#connection instanceof Socket
  }

  get #isReceived(): boolean {
    return [...this.#guests].every(({ request }) => isComplete(request))
  }
}

/** The stream of an HTTP/2 request, or the socket. */
function connectionOf(request: IncomingMessage): Duplex | undefined {
  const { stream, socket } = request as IncomingMessage & { stream?: unknown } // HTTP/2 has it.
  if (stream instanceof Duplex) return stream
  return socket instanceof Duplex ? socket : undefined
}
