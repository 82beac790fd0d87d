/**
 * A load generator that leaves the processor to who is measured: raw sockets that stay open, requests
 * put together beforehand, responses only measured out.
 *
 * @module
 */

import { connect, type Socket } from 'node:net'

/** What to send, and for how long. */
export interface Load {
  readonly port: number
  /** Sockets, each with one request under way. */
  readonly connections: number
  /** Milliseconds, unless {@link requests} says how many. */
  readonly ms?: number
  /** How many requests. */
  readonly requests?: number
  /** How many requests at least, however long they take: none unless set. */
  readonly requestsMin?: number
  /** The key of the next request. */
  readonly nextKey: () => string
  /** What every request says, in ASCII: 168 bytes of JSON unless set. */
  readonly body?: string
  /** Whether there was enough of it, whatever else is said: never unless set. */
  readonly isOver?: () => boolean
  /**
   * Requests a second, however long answers take; each counts from when it was due. As many as are
   * answered unless set.
   */
  readonly perSecond?: number
}

/** What came of it. */
export interface LoadResult {
  readonly requests: number
  /** Responses with another status than 201. */
  readonly failures: number
  readonly seconds: number
  /** Milliseconds of each request, in no order. */
  readonly latencies: readonly number[]
  /** The status of the first failure. */
  readonly firstFailure: string | undefined
}

const BODY = bodyOf()

/** What a request with this note says. The answer says it again: 300 bytes, with a note of 42. */
export function bodyOf(note = 'Two bags, and a cat that would rather not.'): string {
  return JSON.stringify({
    origin: 'Ada Lovelace Memorial Spaceport, Gate 12',
    target: 'Grace Hopper Landing Field, Hangar 7',
    ...{ passengers: 3, note },
  })
}

let counter = 0
const run = process.pid.toString(36) + Date.now().toString(36)

/** A key that was never sent. */
export function freshKey(): string {
  return `bench-${run}-${(counter++).toString(36).padStart(8, '0')}`
}

/** Keys that come around again and again. */
export function keyRing(size: number): () => string {
  const keys = Array.from({ length: size }, freshKey)
  let next = 0
  return () => keys[next++ % size] ?? ''
}

/** Sends the load and waits for every answer. */
export async function send(load: Load): Promise<LoadResult> {
  const { connections, ms = Number.POSITIVE_INFINITY, requests = Number.POSITIVE_INFINITY } = load
  const tally = new Tally(ms, requests, load)
  const sockets = await Promise.all(
    Array.from({ length: connections }, () => openSocket(load.port)),
  )
  tally.start()
  await Promise.all(sockets.map((socket) => drive(socket, load, tally)))
  return tally.result()
}

class Tally {
  readonly latencies: number[] = []
  failures = 0
  firstFailure: string | undefined
  #sent = 0
  #startedAt = 0
  #endedAt = 0
  readonly #ms: number
  readonly #requests: number
  readonly #requestsMin: number
  readonly #gapMs: number
  readonly #isOver: () => boolean

  constructor(ms: number, requests: number, load: Load) {
    const { requestsMin = 0, perSecond, isOver = () => false } = load
    this.#ms = ms
    this.#requests = requests
    this.#requestsMin = requestsMin
    this.#gapMs = perSecond === undefined ? 0 : 1000 / perSecond
    this.#isOver = isOver
  }

  start(): void {
    this.#startedAt = performance.now()
  }

  /** When the next request is due; `undefined` when there is none. */
  next(now: number): number | undefined {
    const dueAt = this.#gapMs === 0 ? now : this.#startedAt + this.#sent * this.#gapMs
    const isOpen = dueAt - this.#startedAt < this.#ms || this.#sent < this.#requestsMin
    return isOpen && !this.#isOver() && this.#sent++ < this.#requests ? dueAt : undefined
  }

  note(sentAt: number, now: number, answer: string): void {
    this.latencies.push(now - sentAt)
    this.#endedAt = now
    if (answer.startsWith('HTTP/1.1 201')) return
    this.failures++
    this.firstFailure ??= answer.slice(0, 300)
  }

  result(): LoadResult {
    const { latencies, failures, firstFailure } = this
    const seconds = (this.#endedAt - this.#startedAt) / 1000
    return { requests: latencies.length, failures, seconds, latencies, firstFailure }
  }
}

function openSocket(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket)).once('error', reject)
    socket.setNoDelay(true).setEncoding('latin1')
  })
}

/** One request after the other over one socket; resolves when the last is answered. */
function drive(socket: Socket, load: Load, tally: Tally): Promise<void> {
  const { port, nextKey, body = BODY } = load
  const head = `POST /rides HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n`
  const tail = `\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  return new Promise((resolve, reject) => {
    let sentAt = 0
    let held = ''
    const write = (): void => {
      socket.write(`${head}Idempotency-Key: ${nextKey()}${tail}`, 'latin1')
    }
    const next = (now: number): void => {
      const dueAt = tally.next(now)
      if (dueAt === undefined) {
        socket.destroy()
        return resolve()
      }
      sentAt = dueAt
      if (dueAt > now) setTimeout(write, dueAt - now)
      else write()
    }
    socket.on('data', (chunk: string) => {
      held = held === '' ? chunk : held + chunk
      if (!isWhole(held)) return
      const now = performance.now()
      tally.note(sentAt, now, held)
      held = ''
      next(now)
    })
    socket.on('error', reject)
    socket.on('end', () => reject(new Error('The server closed a connection.')))
    next(performance.now())
  })
}

/** Whether a response has come to its end. */
function isWhole(response: string): boolean {
  const end = response.indexOf('\r\n\r\n')
  if (end === -1) return false
  const head = response.slice(0, end)
  const length = /\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (length !== undefined) return response.length >= end + 4 + Number(length)
  return response.endsWith('\r\n0\r\n\r\n')
}
