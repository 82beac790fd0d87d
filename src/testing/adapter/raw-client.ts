/**
 * A client that sends exactly the bytes it is told and shows exactly the bytes that come back.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import type { Header } from '../../core/response.ts'

/** A request, line by line. */
export interface Message {
  readonly method: string
  readonly path: string
  /** Field lines in this order, repeated names as they stand. */
  readonly headers: readonly Header[]
  readonly body: string | Uint8Array
}

/** A response, line by line. */
export class Answer {
  readonly status: number
  /** The status line. */
  readonly statusLine: string
  readonly headers: readonly Header[]
  readonly body: Buffer

  constructor(bytes: Buffer) {
    const headEnd = bytes.indexOf('\r\n\r\n')
    assert.ok(headEnd >= 0, `The answer has a head, not ${JSON.stringify(bytes.toString())}`)
    const [statusLine = '', ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n')
    this.statusLine = statusLine
    this.status = Number(statusLine.split(' ')[1])
    this.headers = lines.map((line): Header => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon), line.slice(colon + 1).trim()]
    })
    const rest = bytes.subarray(headEnd + 4)
    const isChunked = this.header('transfer-encoding') === 'chunked'
    this.body = isChunked ? unchunked(rest) : rest
  }

  /** The values of a header, one per field line. */
  all(name: string): readonly string[] {
    return this.headers.filter(([own]) => own.toLowerCase() === name).map(([, value]) => value)
  }

  /** The value of a header that occurs at most once. */
  header(name: string): string | undefined {
    const values = this.all(name)
    assert.ok(values.length <= 1, `${name} occurs once, not ${values.length} times`)
    return values[0]
  }

  get text(): string {
    return this.body.toString()
  }

  /** The body as an object of JSON. */
  get json(): Readonly<Record<string, unknown>> {
    const value: unknown = JSON.parse(this.text)
    assert.ok(typeof value === 'object' && value !== null)
    return { ...value }
  }
}

/** One request under way. */
export class Sending {
  /** The whole answer, once the server has closed the connection. */
  readonly answer: Promise<Answer>
  readonly #socket: Socket
  #received: Buffer = Buffer.alloc(0)
  readonly #watchers = new Set<() => void>()

  constructor(port: number, bytes: Uint8Array) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true })
    this.#socket.write(bytes)
    const received = new Promise<Buffer>((resolve, reject) => {
      this.#socket.on('error', reject)
      this.#socket.on('close', () => resolve(this.#received))
    })
    this.answer = received.then((all) => new Answer(all))
    // Whoever cuts the connection does not ask for the answer.
    this.answer.catch(() => undefined)
    this.#socket.on('data', (chunk) => {
      this.#received = Buffer.concat([this.#received, chunk])
      for (const look of this.#watchers) look()
    })
  }

  /** Whether anything has come back. */
  get isAnswered(): boolean {
    return this.#received.byteLength > 0
  }

  /** Sends more. */
  write(bytes: string | Uint8Array): void {
    this.#socket.write(bytes)
  }

  /** Resolves when the given text has come in; rejects when the connection closes without it. */
  received(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = () => {
        if (!this.#received.includes(text)) return
        this.#watchers.delete(look)
        resolve()
      }
      this.#watchers.add(look)
      this.#socket.once('close', () => reject(new Error(`Closed before ${text} came.`)))
      look()
    })
  }

  /** Cuts the connection, as a client that dies does; resolves when the socket is gone. */
  cut(): Promise<void> {
    return new Promise((resolve) => {
      this.#socket.once('close', () => resolve())
      this.#socket.resetAndDestroy()
    })
  }
}

/** The bytes of a request that asks for the connection to be closed after the answer. */
export function bytesOf({ method, path, headers, body }: Message): Uint8Array {
  const content = Buffer.from(body)
  const lines: Header[] = [['Host', '127.0.0.1'], ['Connection', 'close'], ...headers]
  const isFramed = headers.some(([name]) => /^(?:content-length|transfer-encoding)$/i.test(name))
  if (!isFramed && (content.byteLength > 0 || method !== 'GET')) {
    lines.push(['Content-Length', String(content.byteLength)])
  }
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n`, 'latin1'),
    content,
  ])
}

/** Takes the chunks of a body apart. */
function unchunked(bytes: Buffer): Buffer {
  const chunks: Buffer[] = []
  let at = 0
  for (;;) {
    const lineEnd = bytes.indexOf('\r\n', at)
    assert.ok(lineEnd >= 0, 'The chunked body is whole')
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (size === 0) return Buffer.concat(chunks)
    chunks.push(bytes.subarray(lineEnd + 2, lineEnd + 2 + size))
    at = lineEnd + 2 + size + 2
  }
}
