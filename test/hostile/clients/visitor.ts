/**
 * A client that sends as much as it is told, leaves as it is told, and keeps what came back.
 *
 * @module
 */

import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect as connectHttp2,
  constants,
} from 'node:http2'
import { connect, type Socket } from 'node:net'
import type { Departure } from './plan.ts'

/** What came back. */
export interface Received {
  readonly status: number
  readonly text: string
}

/** One connection. */
export interface Visitor {
  /** Sends bytes; resolves when the system has what the server takes. */
  send(bytes: Uint8Array, isLast: boolean): Promise<void>
  leave(how: Departure): Promise<void>
  /** Resolves when so many bytes of the answer have come, or all of it. */
  receivedBytes(count: number): Promise<void>
  /** The whole answer; `undefined` where the connection ended without one. */
  answer(): Promise<Received | undefined>
  /** What has come so far: the status, where it has. */
  readonly status: number | undefined
  end(): void
}

/** Lets whatever the system has ready be seen. */
export async function turns(count = 4): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Over HTTP/1.1. */
export class SocketVisitor implements Visitor {
  readonly #socket: Socket
  readonly #closed: Promise<unknown>
  #received = Buffer.alloc(0)
  #watch: () => void = () => {}
  #isClosed = false

  constructor(port: number) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    this.#socket.on('error', () => {})
    this.#socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      this.#watch()
    })
    this.#closed = new Promise((resolve) => {
      const close = () => {
        this.#isClosed = true
        this.#watch()
        resolve(undefined)
      }
      this.#socket.once('close', close).once('end', () => {
        this.#socket.end()
        close()
      })
    })
  }

  async send(bytes: Uint8Array): Promise<void> {
    if (bytes.byteLength === 0) return
    await new Promise<void>((resolve) => void this.#socket.write(bytes, () => resolve()))
  }

  async leave(how: Departure): Promise<void> {
    const socket = this.#socket
    if (how === 'stays' || socket.destroyed) return
    if (how === 'half-close') {
      await new Promise<void>((resolve) => void socket.end(() => resolve()))
      return
    }
    if (socket.connecting) await once(socket, 'connect')
    if (how === 'close') socket.destroy()
    else socket.resetAndDestroy()
    await this.#closed
  }

  receivedBytes(count: number): Promise<void> {
    return this.#until(
      () => this.#received.byteLength >= count || wholeAnswer(this.#received, false) !== undefined,
    )
  }

  async answer(): Promise<Received | undefined> {
    await this.#until(() => wholeAnswer(this.#received, false) !== undefined)
    return wholeAnswer(this.#received, this.#isClosed)
  }

  get status(): number | undefined {
    return this.#received.byteLength < 12
      ? undefined
      : Number(this.#received.toString('latin1', 9, 12))
  }

  /** Forgets what came for an earlier request. */
  forget(): void {
    this.#received = Buffer.alloc(0)
  }

  end(): void {
    this.#socket.destroy()
  }

  #until(isReached: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#watch = () => {
        if (isReached() || this.#isClosed) resolve()
      }
      this.#watch()
    })
  }
}

/** The answer in these bytes, if all of it is there. */
function wholeAnswer(bytes: Buffer, isClosed: boolean): Received | undefined {
  const end = bytes.indexOf('\r\n\r\n')
  if (end < 0) return undefined
  const head = bytes.toString('latin1', 0, end)
  const rest = bytes.subarray(end + 4)
  const status = Number(head.slice(9, 12))
  const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1]
  if (length !== undefined) {
    return rest.byteLength < Number(length) ? undefined : { status, text: rest.toString() }
  }
  if (/\r\ntransfer-encoding: chunked/i.test(head)) {
    const text = unchunked(rest)
    return text === undefined ? undefined : { status, text }
  }
  return isClosed ? { status, text: rest.toString() } : undefined
}

function unchunked(bytes: Buffer): string | undefined {
  let text = ''
  for (let at = 0; ; ) {
    const line = bytes.indexOf('\r\n', at)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
    if (bytes.byteLength < line + 4 + size) return undefined
    if (size === 0) return text
    text += bytes.toString('utf8', line + 2, line + 2 + size)
    at = line + 4 + size
  }
}

/** Over HTTP/2, one stream of one session. */
export class StreamVisitor implements Visitor {
  status: number | undefined
  readonly #session: ClientHttp2Session
  readonly #headers: Readonly<Record<string, string>>
  readonly #socket: Socket
  #stream: ClientHttp2Stream | undefined
  #text = ''
  #isEnded = false
  #isWhole = false
  #watch: () => void = () => {}

  constructor(port: number, headers: Readonly<Record<string, string>>) {
    this.#headers = headers
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.on('error', () => {})
    this.#session = connectHttp2(`http://127.0.0.1:${port}`, {
      createConnection: () => this.#socket,
    })
    this.#session.on('error', () => {})
  }

  async send(bytes: Uint8Array, isLast: boolean): Promise<void> {
    const stream = this.#open()
    // A server that reads nothing takes only as much as its window holds: no use to wait for the rest.
    if (bytes.byteLength > 0) stream.write(bytes)
    if (isLast) stream.end()
    await turns()
  }

  async leave(how: Departure): Promise<void> {
    if (how === 'stays') return
    const stream = this.#open()
    if (stream.pending) await Promise.race([once(stream, 'ready'), once(stream, 'close')])
    if (how === 'half-close') stream.close(constants.NGHTTP2_CANCEL)
    else if (how === 'close') this.#socket.destroy()
    else this.#socket.resetAndDestroy()
    await turns()
  }

  receivedBytes(count: number): Promise<void> {
    return this.#until(() => this.status !== undefined && this.#text.length >= count)
  }

  async answer(): Promise<Received | undefined> {
    await this.#until(() => false)
    return this.#isWhole && this.status !== undefined
      ? { status: this.status, text: this.#text }
      : undefined
  }

  end(): void {
    this.#session.destroy()
  }

  #open(): ClientHttp2Stream {
    if (this.#stream !== undefined) return this.#stream
    const stream = this.#session.request(
      { ':method': 'POST', ':path': '/orders', ...this.#headers },
      { endStream: false },
    )
    this.#stream = stream
    const over = () => {
      this.#isEnded = true
      this.#watch()
    }
    stream.setEncoding('utf8').on('error', () => {})
    stream.on('response', (headers) => {
      this.status = headers[':status']
      this.#watch()
    })
    stream.on('data', (text: string) => {
      this.#text += text
      this.#watch()
    })
    stream.on('end', () => {
      this.#isWhole = !stream.aborted && stream.rstCode === constants.NGHTTP2_NO_ERROR
    })
    stream.on('close', over)
    return stream
  }

  #until(isReached: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#watch = () => {
        if (isReached() || this.#isEnded) resolve()
      }
      this.#watch()
    })
  }
}
