import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** One way to answer; `Handler` is the framework's own. */
export interface Shape<Handler> {
  readonly name: string
  readonly handler: Handler
  /** Field lines of the request, in addition. */
  readonly lines?: readonly string[]
  /** Version of HTTP that the request is sent by; 1.1 otherwise. */
  readonly version?: '1.0'
  /** The answer is not given again: it is an error, or it is cut off. */
  readonly isUnkept?: true
  /** The connection is cut before anything is sent. */
  readonly isCut?: true
  /** The body that was written, where Node's own sending garbles the first answer. */
  readonly written?: string
}

/** An app that serves every shape: shape n answers `POST /n`. */
export interface ShapesApp {
  readonly port: number
  close(): Promise<void>
}

/** Compares what goes over the wire with and without protection, and once more as a replay. */
export function describeDifferential<Handler>(
  name: string,
  {
    shapes,
    serve,
  }: {
    readonly shapes: readonly Shape<Handler>[]
    serve(isProtected: boolean): Promise<ShapesApp>
  },
): void {
  describe(`${name} sends byte by byte what it sends without protection:`, () => {
    let plain: ShapesApp
    let guarded: ShapesApp
    beforeAll(async () => {
      plain = await serve(false)
      guarded = await serve(true)
    })
    afterAll(async () => {
      await plain.close()
      await guarded.close()
    })

    for (const [index, shape] of shapes.entries()) {
      it(shape.name, async () => {
        const request = requestOf(shape, index)
        const without = await exchangeBytes(plain.port, request)
        const first = await exchangeBytes(guarded.port, request)
        expect(unmarked(first)).toBe(unmarked(without))
        expect(first === '').toBe(shape.isCut === true)
        const saysUnkept = first.includes('Idempotency-Stored: false\r\n')
        expect(saysUnkept).toBe(shape.isUnkept === true && first !== '')
        const again = await exchangeBytes(guarded.port, request)
        expect(again).not.toContain('idempotency-in-progress')
        expect(again.includes('Idempotent-Replayed: true')).toBe(shape.isUnkept !== true)
        if (shape.isUnkept !== true) {
          expect(first).toContain(`Idempotency-Key: shape-${index}\r\n`)
          const { written: body = answerIn(first).body } = shape
          expect(answerIn(again)).toEqual({ ...answerIn(first), body })
        }
      })
    }
  })
}

function requestOf(shape: Shape<unknown>, index: number): string {
  const lines = [
    `POST /${index} HTTP/${shape.version ?? '1.1'}`,
    ...['Host: 127.0.0.1', 'Connection: close', 'Content-Length: 7'],
    ...['Content-Type: application/json', `Idempotency-Key: shape-${index}`],
    ...(shape.lines ?? []),
  ]
  return `${lines.join('\r\n')}\r\n\r\n{"a":1}`
}

/** Sends bytes and returns all that come back, one character per byte. */
export async function exchangeBytes(port: number, bytes: string): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(bytes, 'latin1')
  let received = ''
  try {
    for await (const chunk of socket.setEncoding('latin1')) received += chunk
  } catch {
    // A connection that is cut may be reset.
  }
  return received
}

/** Without the headers that say when, and those that are ours. */
function unmarked(bytes: string): string {
  const sent = joinsWrites ? withoutChunks(bytes) : bytes
  return sent.replace(/^(?:Date|Idempotency-(?:Key|Expires|Stored)): .*\r\n/gm, '')
}

/** From Node 26 on, what is written in one turn of the event loop is one chunk, and what is held back is written in one turn. */
const joinsWrites = Number(process.versions.node.split('.')[0]) >= 26

/** What was sent, with the chunks of its body joined. */
function withoutChunks(bytes: string): string {
  const head = headOf(bytes)
  if (!isChunked(head)) return bytes
  const { body, end } = chunksOf(bytes.slice(head.length))
  return head + body + end
}

/** The last head: interim responses come before it. */
function headOf(bytes: string): string {
  const [head = ''] = /^(?:HTTP\/1\.1 1[\s\S]*?\r\n\r\n)*(?:[\s\S]*?\r\n\r\n)/.exec(bytes) ?? []
  return head
}

/** What a replay has to repeat. */
function answerIn(bytes: string) {
  const head = headOf(bytes)
  const [status] = head.match(/^HTTP\/1\.1 [2-9]\d\d.*/m) ?? []
  const kept = head.match(/^(?:content-(?:type|encoding|disposition)|location|x-\w+): .*$/gim)
  return { status, kept: kept?.sort(), body: bodyOf(bytes) }
}

/** The body of an answer, its chunks joined. */
export function bodyOf(bytes: string): string {
  const head = headOf(bytes)
  const rest = bytes.slice(head.length)
  return isChunked(head) ? chunksOf(rest).body : rest
}

function isChunked(head: string): boolean {
  return /^transfer-encoding: chunked\r$/im.test(head)
}

/** The chunks joined, and what comes after them: the last one, with its trailers. */
function chunksOf(rest: string): { readonly body: string; readonly end: string } {
  let body = ''
  for (let at = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', at)
    const size = Number.parseInt(rest.slice(at, lineEnd), 16)
    if (!(size > 0)) return { body, end: rest.slice(at) }
    body += rest.slice(lineEnd + 2, lineEnd + 2 + size)
    at = lineEnd + 4 + size
  }
}

/** Sends what breaks half way, and asks again: nothing was sent, and the key is not in use for ever. */
export function describeBroken<Handler>(
  name: string,
  { shapes, serve }: { readonly shapes: readonly Shape<Handler>[]; serve(): Promise<ShapesApp> },
): void {
  describe(`${name} settles the record when the answer breaks:`, () => {
    for (const [index, shape] of shapes.entries()) {
      it(shape.name, async () => {
        const app = await serve()
        const request = requestOf(shape, index)
        expect(await exchangeBytes(app.port, request)).toBe('')
        expect(await exchangeBytes(app.port, request)).toContain('idempotency-outcome-unknown')
        await app.close()
      })
    }
  })
}
