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
export interface Guest {
  readonly request: IncomingMessage
  /**
   * Called when this process itself cuts the connection, as frameworks do when an error comes after the
   * head of a response.
   */
  onCut(): void
}

/** One for each connection, because requests can be pipelined. */
const shelters = new WeakMap<Duplex, Shelter>()

/** The shelter of a request; one that was injected in a test has none. */
export function shelterOf(request: IncomingMessage): Shelter | undefined {
  const connection = connectionOf(request)
  return connection && (shelters.get(connection) ?? new Shelter(connection))
}

/** What tells that the other side has gone. The end of an HTTP/2 stream is only that of its body. */
const PARTING: ReadonlySet<unknown> = new Set(['error', 'aborted', 'close'])

/**
 * Shelters requests, each once it has been received whole.
 *
 * It stays on the connection, where it costs next to nothing while nobody is in it: to put it up and
 * take it down for every request would make each use of the connection slow, ours or not.
 */
export class Shelter {
  readonly #connection: Duplex
  readonly #guests = new Set<Guest>()
  readonly #emit: Duplex['emit']
  #withheld: unknown[][] = []
  /** There from when the connection would look closed. */
  #blind: Cover | undefined

  constructor(connection: Duplex) {
    this.#connection = connection
    shelters.set(connection, this)
    const { emit, destroy } = connection
    this.#emit = emit
    connection.emit = (event: string | symbol, ...args: unknown[]) => {
      const isWithheld = this.#guests.size > 0 && this.#isParting(event) && this.#isReceived
      if (!isWithheld) return emit.call(connection, event, ...args)
      this.#hide()
      this.#withheld.push([event, ...args])
      return true
    }
    connection.destroy = (error, ...more) => {
      if (this.#guests.size === 0) return destroy.call(connection, error, ...more)
      // Errors and ends come from the other side.
      const isOwn = error == null && !connection.readableEnded && this.#isReceived
      this.#hide()
      const result = destroy.call(connection, error, ...more)
      if (isOwn) for (const guest of this.#guests) guest.onCut()
      return result
    }
  }

  /** Takes a request in. */
  enter(guest: Guest): void {
    this.#guests.add(guest)
    // The client may have left while others worked on the request.
    const { destroyed, readable, writable } = this.#connection
    if (destroyed || !writable || (this.#isSocket && !readable)) this.#hide()
  }

  /** To be called right before the answer is sent. */
  leave(guest: Guest): void {
    if (this.#guests.delete(guest) && this.#guests.size === 0) this.#close()
  }

  #close(): void {
    this.#blind?.lift()
    this.#blind = undefined
    if (this.#withheld.length === 0) return
    const withheld = this.#withheld
    this.#withheld = []
    // The answer goes first: a client that has only ended its side still reads.
    process.nextTick(() => {
      for (const args of withheld) Reflect.apply(this.#emit, this.#connection, args)
    })
  }

  /** Keeps from who looks what is kept from who listens. */
  #hide(): void {
    if (this.#blind !== undefined) return
    this.#blind = new Cover(this.#connection)
    this.#blind.property('writable', () => true)
    // Express 5 asks this before it reads a body, also one that has arrived whole.
    if (this.#isSocket) this.#blind.property('readable', () => true)
    this.#blind.property('destroyed', () => false)
  }

  /** Whoever still reads a body has to know that the rest will not come. */
  #isParting(event: unknown): boolean {
    return PARTING.has(event) || (event === 'end' && this.#isSocket)
  }

  /** Whether this is no stream of HTTP/2, which ends with the body of its request. */
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
