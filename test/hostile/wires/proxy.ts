/**
 * A TCP proxy before PostgreSQL or Redis that knows where messages begin and end, and does to each what
 * it is told: lets it pass, cuts the connection around it, delays it, splits it into several segments,
 * joins it with those behind it into one, or has the server end the connection at it.
 *
 * @module
 */

import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { backendPid, type Direction, type Message, Messages, type Protocol } from './protocol.ts'

/** A message on its way. */
export interface Moment {
  /** The number of the connection, in the order in which they were accepted. */
  readonly connection: number
  readonly from: Direction
  /** The number of the message in its direction. */
  readonly index: number
  readonly type: string
}

/** What is done to a message. */
export type Deed =
  | { readonly do: 'pass' }
  /** Ends the connection on both sides; `inside` lets half of the message through. */
  | {
      readonly do: 'cut'
      readonly where: 'before' | 'inside' | 'after'
      readonly how: 'end' | 'reset'
    }
  | { readonly do: 'delay'; readonly ms: number }
  /** Sends it in segments of so many bytes, apart in time. */
  | { readonly do: 'split'; readonly bytes: number }
  /** Holds it until so many more have come, or none comes any more, and sends all as one segment. */
  | { readonly do: 'join'; readonly count: number }
  /** The server ends the session: what it says of that goes in one segment with this message. */
  | { readonly do: 'terminate' }

/** How many messages met each fate. */
export type Counts = Record<Deed['do'], number>

/** What a proxy is made of. */
export interface ProxyParts {
  readonly protocol: Protocol
  readonly host: string
  readonly port: number
  decide(moment: Moment): Deed
  /** Has the server end a session of PostgreSQL; resolves when it is gone. */
  terminate?(pid: number): Promise<unknown>
}

/** A proxy that listens on loopback. */
export interface WireProxy {
  readonly port: number
  readonly counts: Readonly<Counts>
  /** From now on every message passes. */
  heal(): void
  close(): Promise<void>
}

const PASS: Deed = { do: 'pass' }

/** Messages that are joined wait no longer than this for others. */
const QUIET_MS = 3

/** Splits of one message; the last has the rest. */
const PIECES_MAX = 6

/** Opens a proxy. */
export async function openWireProxy(parts: ProxyParts): Promise<WireProxy> {
  const wires = new Set<Wire>()
  const counts: Counts = { pass: 0, cut: 0, delay: 0, split: 0, join: 0, terminate: 0 }
  let accepted = 0
  let isHealed = false
  const decide = (moment: Moment): Deed => {
    const deed = isHealed ? PASS : parts.decide(moment)
    counts[deed.do]++
    return deed
  }
  const server = createServer((client) => {
    const upstream = connect(parts.port, parts.host)
    const wire = new Wire({ ...parts, decide }, accepted++, { client, server: upstream })
    wires.add(wire)
    client.once('close', () => wires.delete(wire))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The proxy has no port.')
  return {
    ...{ port: address.port, counts },
    heal() {
      isHealed = true
      for (const wire of wires) wire.heal()
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const wire of wires) wire.cut('reset')
      await closed
    },
  }
}

/** One connection through the proxy. */
class Wire {
  readonly #parts: ProxyParts
  readonly #number: number
  readonly #sockets: Readonly<Record<Direction, Socket>>
  readonly #lanes: readonly Lane[]
  /** Of the server's process, once the client was told. */
  #pid: number | undefined
  #isCut = false

  constructor(parts: ProxyParts, number: number, sockets: Readonly<Record<Direction, Socket>>) {
    this.#parts = parts
    this.#number = number
    this.#sockets = sockets
    this.#lanes = [this.#lane('client', 'server'), this.#lane('server', 'client')]
    for (const socket of Object.values(sockets)) socket.setNoDelay(true).on('error', () => {})
  }

  #lane(from: Direction, to: Direction): Lane {
    const messages = new Messages(this.#parts.protocol, from)
    let index = 0
    const lane: Lane = new Lane(this.#sockets[to], (message) => {
      const moment = { connection: this.#number, from, index: index++, type: message.type }
      return this.#handle(lane, message, moment)
    })
    this.#sockets[from]
      .on('data', (chunk) => {
        for (const message of messages.take(chunk)) lane.take(message)
      })
      .on('close', () => lane.end())
    return lane
  }

  async #handle(lane: Lane, message: Message, moment: Moment): Promise<void> {
    this.#pid = backendPid(message) ?? this.#pid
    const deed = this.#parts.decide(moment)
    if (deed.do === 'cut') return this.#cutAt(lane, message, deed)
    if (deed.do === 'delay') await sleep(deed.ms)
    if (deed.do === 'join') lane.hold(deed.count)
    if (deed.do === 'terminate') return this.#terminateAt(lane, message, moment)
    if (deed.do === 'split') await this.#split(lane, message.bytes, deed.bytes)
    else lane.send(message.bytes)
  }

  #cutAt(lane: Lane, { bytes }: Message, deed: Deed & { do: 'cut' }): void {
    const through = { before: 0, inside: Math.ceil(bytes.length / 2), after: bytes.length }
    lane.send(bytes.subarray(0, through[deed.where]))
    lane.flush()
    this.cut(deed.how)
  }

  async #terminateAt(lane: Lane, { bytes }: Message, { from }: Moment): Promise<void> {
    const pid = this.#pid
    if (pid === undefined) return this.cut('end')
    if (from === 'server') lane.hold(Number.POSITIVE_INFINITY)
    lane.send(bytes)
    await this.#parts.terminate?.(pid)
  }

  async #split(lane: Lane, bytes: Buffer, size: number): Promise<void> {
    const step = Math.max(size, Math.ceil(bytes.length / PIECES_MAX))
    lane.flush()
    for (let at = 0; at < bytes.length; at += step) {
      lane.send(bytes.subarray(at, at + step))
      // A turn of the event loop, so that each piece is a segment of its own.
      await sleep(0)
    }
  }

  /** Ends both sides: in order, behind what was sent, or by a reset. */
  cut(how: 'end' | 'reset'): void {
    if (this.#isCut) return
    this.#isCut = true
    for (const lane of this.#lanes) lane.stop()
    const { client, server } = this.#sockets
    if (how === 'reset') client.resetAndDestroy()
    else client.end(() => client.destroy())
    // The server is to do what has reached it.
    server.end()
    client.once('close', () => server.resume())
  }

  /** Lets go of what is held. */
  heal(): void {
    for (const lane of this.#lanes) lane.flush()
  }
}

/** One direction of a connection. */
class Lane {
  readonly #to: Socket
  readonly #handle: (message: Message) => Promise<void>
  #last: Promise<void> = Promise.resolve()
  #held: Buffer[] = []
  #holding = 0
  #timer: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(to: Socket, handle: (message: Message) => Promise<void>) {
    this.#to = to
    this.#handle = handle
  }

  /** Handles a message when those before it are handled. */
  take(message: Message): void {
    this.#last = this.#last.then(() => (this.#isStopped ? undefined : this.#handle(message)))
  }

  /** Holds what is sent until `count` more messages have come. */
  hold(count: number): void {
    this.#holding = Math.max(this.#holding, count + 1)
  }

  send(bytes: Buffer): void {
    if (this.#isStopped) return
    this.#held.push(bytes)
    if (this.#holding > 0) this.#holding--
    if (this.#holding === 0) return this.flush()
    clearTimeout(this.#timer)
    if (this.#holding !== Number.POSITIVE_INFINITY) {
      this.#timer = setTimeout(() => this.flush(), QUIET_MS)
    }
  }

  /** Sends what is held, as one segment. */
  flush(): void {
    clearTimeout(this.#timer)
    this.#holding = 0
    const bytes = Buffer.concat(this.#held.splice(0))
    if (bytes.length > 0 && this.#to.writable && !this.#isStopped) this.#to.write(bytes)
  }

  /** The sender is gone. */
  end(): void {
    this.#last = this.#last.then(() => {
      this.flush()
      if (!this.#isStopped) this.#to.end()
    })
  }

  /** Sends nothing more. */
  stop(): void {
    clearTimeout(this.#timer)
    this.#isStopped = true
    this.#held = []
  }
}
