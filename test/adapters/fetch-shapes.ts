/**
 * The shapes that a `Response` can have.
 *
 * @module
 */

import { setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

/** A handler that answers in one shape. */
export interface FetchShape {
  readonly name: string
  /** Whether the answer is one that is given again. */
  readonly isStored?: boolean
  /** Whether the body is let through and not kept. */
  readonly isStreamed?: boolean
  readonly handler: () => Response | Promise<Response>
}

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const TWO_MIB = 2_097_152

/** A body in pieces, each after a turn of the event loop. */
export function slowly(pieces: readonly string[]): ReadableStream<Uint8Array> {
  const left = [...pieces]
  return new ReadableStream({
    async pull(controller) {
      await setImmediate()
      const piece = left.shift()
      if (piece === undefined) controller.close()
      else controller.enqueue(Buffer.from(piece))
    },
  })
}

/** A body in pieces that are all there. */
export function atOnce(pieces: readonly Uint8Array[]): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      controller.close()
    },
  })
}

function cookies(): Headers {
  const headers = new Headers({ Vary: 'Accept' })
  headers.append('Set-Cookie', 'session=1; Path=/; HttpOnly')
  headers.append('Set-Cookie', 'theme=dark, bright')
  headers.append('Vary', 'Origin')
  return headers
}

class OwnResponse extends Response {
  readonly mark = 'own'
}

const text = { 'Content-Type': 'text/plain' }

/** More than thirty. */
export const fetchShapes: readonly FetchShape[] = [
  { name: 'a text', handler: () => new Response('Grüße 🎉\r\n\u0000') },
  { name: 'an empty text', handler: () => new Response('') },
  { name: 'no body', handler: () => new Response() },
  { name: 'JSON', handler: () => Response.json({ id: 1, name: 'Ünïcode 🎉' }, { status: 201 }) },
  { name: 'JSON of null', handler: () => Response.json(null) },
  { name: 'bytes', handler: () => new Response(ALL_BYTES) },
  { name: 'a part of a buffer', handler: () => new Response(ALL_BYTES.subarray(100, 200)) },
  { name: 'an ArrayBuffer', handler: () => new Response(ALL_BYTES.slice().buffer) },
  { name: 'a DataView', handler: () => new Response(new DataView(ALL_BYTES.slice().buffer, 5, 9)) },
  { name: 'a blob', handler: () => new Response(new Blob(['a', 'b'], { type: 'text/csv' })) },
  { name: 'form fields', handler: () => new Response(new URLSearchParams({ a: '1 &', b: 'ü' })) },
  { name: 'no bytes', handler: () => new Response(new Uint8Array()) },
  {
    name: 'a 201 with its place',
    handler: () => new Response('made', { status: 201, headers: { Location: '/items/1' } }),
  },
  { name: 'a 202', handler: () => new Response(null, { status: 202 }) },
  { name: 'a 204', handler: () => new Response(null, { status: 204 }) },
  { name: 'a 205', handler: () => new Response(null, { status: 205 }) },
  { name: 'a 304', handler: () => new Response(null, { status: 304, headers: { ETag: '"1"' } }) },
  { name: 'a redirect', handler: () => Response.redirect('http://127.0.0.1/there') },
  { name: 'a redirect by 303', handler: () => Response.redirect('http://127.0.0.1/a?b=c', 303) },
  { name: 'a redirect by 308', handler: () => Response.redirect('http://127.0.0.1/', 308) },
  { name: 'a 400', isStored: false, handler: () => new Response('bad', { status: 400 }) },
  { name: 'a 402', handler: () => Response.json({ error: 'declined' }, { status: 402 }) },
  { name: 'a 404', handler: () => new Response('none', { status: 404 }) },
  { name: 'a 422', handler: () => new Response('no', { status: 422 }) },
  { name: 'a 500', isStored: false, handler: () => new Response('down', { status: 500 }) },
  {
    name: 'a 503 with a time',
    isStored: false,
    handler: () => new Response('later', { status: 503, headers: { 'Retry-After': '7' } }),
  },
  { name: 'a 599', isStored: false, handler: () => new Response('odd', { status: 599 }) },
  {
    name: 'a reason of its own',
    handler: () => new Response('ok', { status: 200, statusText: 'Just Fine' }),
  },
  { name: 'several cookies', handler: () => new Response('welcome', { headers: cookies() }) },
  {
    name: 'a header in Latin-1',
    handler: () => new Response('ok', { headers: { 'X-Name': 'Jos\u00e9' } }),
  },
  {
    name: 'a compressed body',
    handler: () =>
      new Response(gzipSync('by the handler'), {
        headers: { 'Content-Encoding': 'gzip', ...text },
      }),
  },
  {
    name: 'a length of its own',
    handler: () => new Response('12345', { headers: { 'Content-Length': '5' } }),
  },
  { name: 'a stream that is all there', handler: () => new Response(atOnce([ALL_BYTES])) },
  {
    name: 'a stream of five pieces',
    handler: () => new Response(atOnce(Array(5).fill(ALL_BYTES))),
  },
  { name: 'an empty stream', handler: () => new Response(atOnce([])) },
  { name: 'a slow stream', handler: () => new Response(slowly(['one', 'two', 'three', 'vier ü'])) },
  { name: 'a slow stream of nothing', handler: () => new Response(slowly([]), { status: 201 }) },
  {
    name: 'a slow stream of known length',
    handler: () => new Response(slowly(['one', 'two']), { headers: { 'Content-Length': '6' } }),
  },
  {
    name: 'a stream through a transform',
    handler: () => new Response(slowly(['a', 'b']).pipeThrough(new TransformStream())),
  },
  {
    name: 'a stream of bytes',
    handler: () =>
      new Response(
        new ReadableStream({
          type: 'bytes',
          start(controller) {
            controller.enqueue(ALL_BYTES.slice())
            controller.close()
          },
        }),
      ),
  },
  {
    name: 'a text over the limit',
    isStreamed: true,
    handler: () => new Response('x'.repeat(TWO_MIB)),
  },
  {
    name: 'a stream over the limit',
    isStreamed: true,
    handler: () => new Response(slowly(Array(8).fill('x'.repeat(TWO_MIB / 8)))),
  },
  {
    name: 'events',
    isStreamed: true,
    handler: () =>
      new Response(slowly(['data: 1\n\n', 'data: 2\n\n']), {
        headers: { 'Content-Type': 'text/event-stream' },
      }),
  },
  { name: 'what fetch gave', handler: () => fetch('data:text/plain;charset=utf-8,from%20afar') },
  { name: 'a copy', handler: () => new Response('copied').clone() },
  { name: 'a class of its own', handler: () => new OwnResponse('own', { status: 203 }) },
  { name: 'an error of the network', isStored: false, handler: () => Response.error() },
  {
    name: 'a throw',
    isStored: false,
    handler: () => {
      throw new Error('The handler failed.')
    },
  },
]
