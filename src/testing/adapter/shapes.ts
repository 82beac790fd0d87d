/**
 * The shapes that answers have.
 *
 * @module
 */

import { gzipSync } from 'node:zlib'
import type { Deed } from './harness.ts'

/** An answer that has to come back exactly. */
export interface Shape {
  readonly name: string
  /** Makes the answer anew each time, because a stream can be read but once. */
  make(): Deed
}

const TEXT_TYPE = ['Content-Type', 'text/plain; charset=utf-8'] as const
const BYTES_TYPE = ['Content-Type', 'application/octet-stream'] as const
const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const LONG_TEXT = 'Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. '.repeat(4000)

async function* inPieces(pieces: readonly Uint8Array[]): AsyncIterable<Uint8Array> {
  yield* pieces
}

/** Every shape, but for answers that are over the limit and those that never end. */
export const shapes: readonly Shape[] = [
  {
    name: 'a JSON value',
    make: () => ({ status: 201, how: 'json', body: { id: 'it_1', name: 'Ünïcode 🎉', list: [1] } }),
  },
  {
    name: 'a text',
    make: () => ({ status: 200, headers: [TEXT_TYPE], how: 'send', body: 'Grüße 🎉\r\n\u0000' }),
  },
  {
    name: 'JSON as the handler wrote it',
    make: () => ({
      ...{ status: 200, headers: [['Content-Type', 'application/vnd.api+json']] },
      ...{ how: 'send', body: '{ "b":1.0,\n"a":"\\u00e9" }' },
    }),
  },
  {
    name: 'all 256 values of a byte',
    make: () => ({ status: 200, headers: [BYTES_TYPE], how: 'send', body: ALL_BYTES }),
  },
  { name: 'an empty 200', make: () => ({ status: 200, how: 'end' }) },
  {
    name: 'an empty text',
    make: () => ({ status: 200, headers: [TEXT_TYPE], how: 'send', body: '' }),
  },
  { name: 'a 204', make: () => ({ status: 204, how: 'end' }) },
  { name: 'a 304', make: () => ({ status: 304, headers: [['ETag', '"v1"']], how: 'end' }) },
  { name: 'a 303 to another place', make: () => redirect(303) },
  { name: 'a 307 to another place', make: () => redirect(307) },
  {
    name: 'a body that is compressed',
    make: () => ({
      ...{ status: 200, headers: [TEXT_TYPE, ['Content-Encoding', 'gzip']] },
      ...{ how: 'send', body: gzipSync('compressed by the handler') },
    }),
  },
  {
    name: 'a body written in pieces',
    make: () => ({
      ...{ status: 200, headers: [TEXT_TYPE], how: 'write' },
      body: ['one ', Buffer.from('two '), 'drei ü'],
    }),
  },
  {
    name: 'a stream',
    make: () => ({
      ...{ status: 200, headers: [BYTES_TYPE], how: 'stream' },
      body: inPieces([ALL_BYTES, Buffer.from('and'), ALL_BYTES]),
    }),
  },
  {
    name: 'a stream of known length',
    make: () => ({
      ...{ status: 200, headers: [BYTES_TYPE, ['Content-Length', '256']], how: 'stream' },
      body: inPieces([ALL_BYTES]),
    }),
  },
  {
    name: 'an empty stream',
    make: () => ({ status: 200, headers: [BYTES_TYPE], how: 'stream', body: inPieces([]) }),
  },
  {
    name: 'a long text',
    make: () => ({ status: 200, headers: [TEXT_TYPE], how: 'send', body: LONG_TEXT }),
  },
  {
    name: 'a file',
    make: () => ({
      ...{ status: 200, headers: [['Content-Type', 'text/x-source']], how: 'file' },
      path: import.meta.filename,
    }),
  },
  {
    name: 'repeated headers',
    make: () => ({
      ...{ status: 200, how: 'send', body: 'linked' },
      headers: [TEXT_TYPE, ['Link', '</a>; rel="prev"'], ['Link', '</b>; rel="next"']],
    }),
  },
  {
    name: 'headers of its own',
    make: () => ({
      ...{ status: 202, how: 'send', body: 'accepted' },
      headers: [
        ...[TEXT_TYPE, ['Location', '/items/it_1'], ['ETag', 'W/"abc"']],
        ...[
          ['X-Custom', 'a, b;c="d"'],
          ['Cache-Control', 'no-store'],
        ],
      ] as const,
    }),
  },
  {
    name: 'an error about the world',
    make: () => ({ status: 402, how: 'json', body: { error: 'card declined' } }),
  },
]

function redirect(status: number): Deed {
  return { status, how: 'redirect', location: '/items/it_1?from=post' }
}
