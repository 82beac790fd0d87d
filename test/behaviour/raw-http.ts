/**
 * HTTP by hand, over a socket: what is sent is exactly what is written here, also where a client
 * library would refuse, join or mend it.
 *
 * @module
 */

import { once } from 'node:events'
import { connect, type Socket } from 'node:net'

/** One field line. */
export type Line = readonly [name: string, value: string]

/** A request to send. */
export interface RawRequest {
  /** @default 'POST' */
  readonly method?: string
  /** @default '/charges' */
  readonly path?: string
  /** Value of the `Idempotency-Key` line; without one there is no such line. */
  readonly key?: string | undefined
  /** Further field lines, as they are; characters are sent as one byte each. */
  readonly headers?: readonly Line[]
  /**
   * The body; an object is written as JSON.
   *
   * @default '{"amount":100}', as JSON
   */
  readonly body?: string | Uint8Array | Readonly<Record<string, unknown>>
  /** @default 'application/json' where there is a body */
  readonly type?: string
  /**
   * How many bytes of the body are sent.
   *
   * @default all that the head promises
   */
  readonly bodyBytes?: number
}

/** What came back. */
export class RawResponse {
  readonly status: number
  readonly lines: readonly Line[]
  readonly body: Buffer

  constructor(message: Buffer) {
    const end = message.indexOf('\r\n\r\n')
    const [start = '', ...lines] = message.toString('latin1', 0, end).split('\r\n')
    this.status = Number(start.split(' ')[1])
    this.lines = lines.map((line): Line => {
      const at = line.indexOf(':')
      return [line.slice(0, at), line.slice(at + 1).trim()]
    })
    const body = message.subarray(end + 4)
    this.body = this.header('Transfer-Encoding') === 'chunked' ? unchunked(body) : body
  }

  /** The value of a header; `undefined` when it is not there. */
  header(name: string): string | undefined {
    return this.all(name)[0]
  }

  /** The values of every line of a header. */
  all(name: string): readonly string[] {
    const wanted = name.toLowerCase()
    return this.lines.flatMap(([has, value]) => (has.toLowerCase() === wanted ? [value] : []))
  }

  get text(): string {
    return this.body.toString()
  }

  get json(): unknown {
    return JSON.parse(this.text)
  }
}

/** Sends a request and waits for all of its answer. */
export async function sendRaw(port: number, request: RawRequest): Promise<RawResponse> {
  const socket = await openRaw(port, request)
  const chunks: Buffer[] = []
  socket.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(socket, 'end')
  return new RawResponse(Buffer.concat(chunks))
}

/** Sends a request and leaves the answer, and the connection, to the test. */
export async function openRaw(port: number, request: RawRequest): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(messageOf(request))
  return socket
}

function messageOf({ method = 'POST', path = '/charges', ...rest }: RawRequest): Buffer {
  const { key, headers = [], type = 'application/json', body = { amount: 100 }, bodyBytes } = rest
  const isWhole = typeof body === 'string' || body instanceof Uint8Array
  const bytes = Buffer.from(isWhole ? body : JSON.stringify(body))
  const lines: Line[] = [
    ['Host', 'localhost'],
    ['Connection', 'close'],
    ...(bytes.length > 0 ? [['Content-Type', type] as const] : []),
    ['Content-Length', String(bytes.length)],
    ...(key === undefined ? [] : [['Idempotency-Key', key] as const]),
    ...headers,
  ]
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  return Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n`, 'latin1'),
    bytes.subarray(0, bodyBytes),
  ])
}

function unchunked(body: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let at = 0; ; ) {
    const end = body.indexOf('\r\n', at)
    const length = Number.parseInt(body.toString('latin1', at, end), 16)
    if (!(length > 0)) return Buffer.concat(chunks)
    chunks.push(body.subarray(end + 2, end + 2 + length))
    at = end + 2 + length + 2
  }
}
