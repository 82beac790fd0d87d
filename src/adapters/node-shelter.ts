/**
 * Keeps from everybody in this process that a client has gone away, until its answer is stored.
 *
 * A client that disconnects cancels nothing. Frameworks think otherwise: told of a closed connection
 * they stop streams and never end the response, and the record would stay in progress for ever. So
 * the events that tell of it are withheld while a request is protected, and given afterwards.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { isComplete } from './node-body.ts'
import { noop } from './node-calls.ts'
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

/** What tells that the client has gone, on a socket and on a stream of HTTP/2. */
const PARTING_SOCKET: ReadonlySet<unknown> = new Set(['error', 'close', 'end'])
/** Its end is only that of its body; Node finishes a stream that the client cancels. */
const PARTING_STREAM: ReadonlySet<unknown> = new Set(['error', 'close', 'aborted', 'finish'])

/** How a connection looks while its client is there, by the members that code asks. */
const OPEN: Readonly<Record<string, unknown>> = {
  ...{ writable: true, writableEnded: false, writableFinished: false, writableAborted: false },
  ...{ destroyed: false, closed: false, errored: null, readableAborted: false },
}
/** What only a socket has, or shows otherwise than a stream of HTTP/2, which ends with its body. */
const OPEN_SOCKET: Readonly<Record<string, unknown>> = {
  ...{ readable: true, readableEnded: false, pending: false },
}
/** What only a stream of HTTP/2 has. Node itself asks a destroyed stream for no `state`. */
const OPEN_STREAM: Readonly<Record<string, unknown>> = { aborted: false, rstCode: 0, state: {} }

/**
 * Shelters requests, each once it has been received whole.
 *
 * A socket is kept from the end and from the errors that come from its client: until the answer is
 * stored nothing happens to it, so everybody who asks it finds it open. A stream of HTTP/2 whose client
 * cancels it has nothing below it any more, and a socket may have been closed before its request came
 * here: those are made to look open.
 *
 * The shelter stays on the connection, where it costs next to nothing while nobody is in it: to put it
 * up and take it down for every request would make each use of the connection slow, ours or not.
 */
export class Shelter {
  readonly #connection: Duplex
  /** Whether this is no stream of HTTP/2, which ends with the body of its request. */
  readonly #isSocket: boolean
  readonly #guests = new Set<Guest>()
  readonly #emit: Duplex['emit']
  readonly #destroy: Duplex['destroy']
  readonly #push: Duplex['push']
  #withheld: unknown[][] = []
  /** The error by which the client broke the connection. */
  #broken: Error | undefined
  /** Whether the client has ended its side. */
  #isEnded = false
  /** There from when the connection would look closed. */
  #blind: Cover | undefined

  constructor(connection: Duplex) {
    this.#connection = connection
    this.#isSocket = connection instanceof Socket
    shelters.set(connection, this)
    const { emit, destroy, push } = connection
    this.#emit = emit
    this.#destroy = destroy
    this.#push = push
    connection.emit = (event: string | symbol, ...args: unknown[]) => {
      if (this.#guests.size > 0 && this.#isParting(event) && this.#isOccupied) {
        if (connection.destroyed) this.#hide()
        this.#withheld.push([event, ...args])
        return true
      }
      // Node would have what is below a stream of HTTP/2 stop, which is gone.
      if (event === 'pause' && this.#blind !== undefined && !this.#isSocket) return false
      return emit.call(connection, event, ...args)
    }
    connection.destroy = (error, ...more) => {
      if (!this.#isOccupied) return destroy.call(connection, error, ...more)
      if (this.#isSocket && error != null && isOfSystem(error)) {
        this.#broken ??= error
        return connection
      }
      // Errors of Node, which have a code, and ends come from the other side.
      const isOwn = !connection.readableEnded && !(error != null && 'code' in error)
      const result = destroy.call(connection, error, ...more)
      this.#hide()
      if (isOwn) for (const guest of this.#guests) guest.onCut()
      return result
    }
    if (!this.#isSocket) return
    connection.push = (chunk: unknown, encoding) => {
      if (chunk !== null || !this.#isOccupied) return push.call(connection, chunk, encoding)
      this.#isEnded = true
      return false
    }
  }

  /** Takes a request in. */
  enter(guest: Guest): void {
    this.#guests.add(guest)
    if (!isComplete(guest.request)) return
    // The client may have left while others worked on the request.
    const { destroyed, readable, writable } = this.#connection
    if (destroyed || !writable || (this.#isSocket && !readable)) this.#hide()
  }

  /** To be called right before the answer is sent by `response`. */
  leave(guest: Guest, response: ServerResponse): void {
    if (this.#guests.delete(guest) && !this.#isOccupied) this.#close(response)
  }

  #close(response: ServerResponse): void {
    const connection = this.#connection
    this.#blind?.lift()
    this.#blind = undefined
    if (this.#broken !== undefined) Reflect.apply(this.#destroy, connection, [this.#broken])
    this.#broken = undefined
    if (this.#withheld.length === 0 && !this.#isEnded) return
    const [withheld, isEnded] = [this.#withheld, this.#isEnded]
    this.#withheld = []
    this.#isEnded = false
    process.nextTick(() => {
      for (const args of withheld) Reflect.apply(this.#emit, connection, args)
      if (isEnded) whenSent(response, () => this.#end())
    })
  }

  /** Has the connection end as its client has ended it. */
  #end(): void {
    const connection = this.#connection
    if (connection.destroyed) return
    Reflect.apply(this.#push, connection, [null])
    // As Node does where it sees the end: nobody else may read.
    connection.read(0)
  }

  /** Keeps from who looks what is kept from who listens. */
  #hide(): void {
    if (this.#blind !== undefined) return
    const blind = new Cover(this.#connection)
    this.#blind = blind
    const members = { ...OPEN, ...(this.#isSocket ? OPEN_SOCKET : OPEN_STREAM) }
    for (const [name, value] of Object.entries(members)) blind.property(name, () => value)
    // Of a stream that is gone there is nothing to close.
    if (!this.#isSocket) blind.method('close', noop)
  }

  #isParting(event: unknown): boolean {
    return (this.#isSocket ? PARTING_SOCKET : PARTING_STREAM).has(event)
  }

  /** Whether there is a guest whose request was received whole; others may still come in behind it. */
  get #isOccupied(): boolean {
    if (this.#guests.size === 0) return false
    return [...this.#guests].some(({ request }) => isComplete(request))
  }
}

/**
 * Calls `act` once the whole answer was handed to the connection: a client that has only ended its side
 * still reads, and Node would close the connection.
 */
function whenSent(response: ServerResponse, act: () => void): void {
  if (response.writableEnded || response.destroyed) return act()
  // One that is destroyed instead takes its connection along, which needs no end then.
  response.once('prefinish', act)
}

/** Whether the system reports that a connection is broken. */
function isOfSystem(error: Error): boolean {
  return 'syscall' in error
}

/** The stream of an HTTP/2 request, or the socket. */
function connectionOf(request: IncomingMessage): Duplex | undefined {
  const { stream, socket } = request as IncomingMessage & { stream?: unknown } // HTTP/2 has it.
  if (stream instanceof Duplex) return stream
  return socket instanceof Duplex ? socket : undefined
}
