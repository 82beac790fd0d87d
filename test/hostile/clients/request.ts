/**
 * The requests that hostile clients send: one note and one amount, in the form that the app's parser
 * reads.
 *
 * @module
 */

import { bytesOf } from '../../../src/testing/adapter/raw-client.ts'
import { type Boundaries, isHttp2, type ParserName, type Plan } from './plan.ts'

const BOUNDARY = 'hostile-boundary'

/** Which of a key's requests this is, said to the app by a header that is not compared. */
export type Visit = 'first' | 'again' | 'before'

/** What the body says, as the handler has to see it whatever its parser is. */
export function noteOf(key: string, length: number): string {
  return key.padEnd(key.length + length, 'n')
}

/** The body of a request. */
function bodyOf(parser: ParserName, note: string): string {
  switch (parser) {
    case 'json':
      return JSON.stringify({ note, amount: 5 })
    case 'urlencoded':
      return `note=${note}&amount=5`
    case 'raw':
    case 'stream':
      return note
    case 'multipart':
      return [
        `--${BOUNDARY}`,
        ...['Content-Disposition: form-data; name="amount"', '', '5', `--${BOUNDARY}`],
        'Content-Disposition: form-data; name="note"; filename="note.txt"',
        ...['Content-Type: text/plain', '', note, `--${BOUNDARY}--`, ''],
      ].join('\r\n')
  }
}

/** The type of such a body. */
export function typeOf(parser: ParserName): string {
  switch (parser) {
    case 'json':
      return 'application/json'
    case 'urlencoded':
      return 'application/x-www-form-urlencoded'
    case 'raw':
    case 'stream':
      return 'application/octet-stream'
    case 'multipart':
      return `multipart/form-data; boundary=${BOUNDARY}`
  }
}

/** The bytes of an HTTP/1.1 request, or of the body alone over HTTP/2. */
export function requestBytes(plan: Plan, key: string, visit: Visit): Buffer {
  const body = bodyOf(plan.parser, noteOf(key, plan.noteLength))
  if (isHttp2(plan.app)) return Buffer.from(body)
  const isChunked = plan.isChunked && visit !== 'again'
  const headers: [string, string][] = [
    ['Idempotency-Key', key],
    ['X-Visit', visit],
    ['Content-Type', typeOf(plan.parser)],
  ]
  if (isChunked) headers.push(['Transfer-Encoding', 'chunked'])
  const message = {
    method: 'POST',
    path: '/orders',
    headers,
    body: isChunked ? chunked(body) : body,
  }
  const bytes = Buffer.from(bytesOf(message))
  if (visit === 'again') return bytes
  // Only the last request asks for the end of its connection.
  return Buffer.from(bytes.toString('latin1').replace('Connection: close\r\n', ''), 'latin1')
}

/** Two chunks and the end. */
function chunked(body: string): string {
  const middle = Math.ceil(body.length / 2)
  const chunks = [body.slice(0, middle), body.slice(middle)].filter((chunk) => chunk.length > 0)
  const lines = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
  return `${lines.join('')}0\r\n\r\n`
}

/** Where the first request of a plan has its boundaries. */
export function boundariesOf(plan: Plan): Boundaries {
  const bytes = requestBytes(plan, keyOf(0), 'first')
  return { head: isHttp2(plan.app) ? 0 : bytes.indexOf('\r\n\r\n') + 4, total: bytes.byteLength }
}

/** A key; all keys are equally long, so that the same byte is the same byte of every request. */
export function keyOf(number: number): string {
  return `key-${String(number).padStart(9, '0')}`
}
