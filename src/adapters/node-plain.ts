/**
 * Answers that are plain: a head and one body, all of it in a call or two. Nearly every answer is,
 * and what Node would make of it is known without having Node do it on a stage.
 *
 * Whatever is not plain beyond doubt is none: then the stage says what comes of it.
 *
 * @module
 */

import { ServerResponse, validateHeaderName } from 'node:http'
import type { Header } from '../core/response.ts'
import { groupHeaders, headersOf, isOfConnection, isOneOf, nameSet } from './node-head.ts'

/** The head of a plain answer. */
export interface PlainHead {
  readonly status: number
  /** The reason that was given, if any. */
  readonly message: string | undefined
  readonly headers: readonly Header[]
}

/** Anything else is written in one encoding or another, depending on what comes after it. */
const PLAIN_TEXT = /^[\t\x20-\x7e]*$/

/** Node treats these in a way of its own. */
const SPECIAL = nameSet(['cookie', 'trailer', 'expect', 'upgrade'])

/** The head that a response has by now; `undefined` when it is not plain. */
export function plainHead(response: ServerResponse): PlainHead | undefined {
  // HTTP/2 has rules of its own; so have answers without a body, and those that Node counts.
  if ('stream' in response || response.req.method === 'HEAD') return undefined
  const { statusCode: status, statusMessage, strictContentLength } = response
  if (!isPlainStatus(status) || strictContentLength) return undefined
  if (statusMessage && !PLAIN_TEXT.test(statusMessage)) return undefined
  const headers: Header[] = []
  for (const header of headersOf(response)) {
    if (isOfConnection(header[0])) continue
    if (!isPlainHeader(header)) return undefined
    headers.push(header)
  }
  return { status, message: statusMessage || undefined, headers }
}

/**
 * The head that a response gets from these arguments of `writeHead`; `undefined` when it is not
 * plain.
 */
export function plainWriteHead(
  response: ServerResponse,
  args: readonly unknown[],
): PlainHead | undefined {
  const before = plainHead(response)
  const [status, ...rest] = args
  const message = typeof rest[0] === 'string' ? rest.shift() : undefined
  const [given = {}, ...more] = rest
  if (before === undefined || !isPlainStatus(status) || more.length > 0) return undefined
  // Only a string was taken out.
  const reason = (message as string | undefined) ?? before.message
  if (reason !== undefined && !PLAIN_TEXT.test(reason)) return undefined
  const headers = isRecord(given) ? withHeaders(before.headers, given) : undefined
  return headers && { status, message: reason, headers }
}

/** Whether these arguments of `end` are a body that Node takes as it is. */
export function isPlainBody(chunk: unknown, encoding: unknown): boolean {
  const isChunk = chunk == null || typeof chunk === 'string' || chunk instanceof Uint8Array
  if (encoding == null) return isChunk
  return isChunk && typeof encoding === 'string' && Buffer.isEncoding(encoding)
}

/** The headers with those of `writeHead` in place of others of the same names. */
function withHeaders(
  before: readonly Header[],
  given: Readonly<Record<string, unknown>>,
): readonly Header[] | undefined {
  const lines: Header[] = []
  const names = new Set<string>()
  for (const written of Object.keys(given)) {
    const name = written.toLowerCase()
    if (names.has(name) || !isName(written)) return undefined
    names.add(name)
    const value = given[written]
    const values: readonly unknown[] = Array.isArray(value) ? value : [value]
    if (values.length === 0) return undefined
    for (const one of values) {
      if (!isTextOrNumber(one)) return undefined
      const line: Header = [written, String(one)]
      if (!isPlainHeader(line)) return undefined
      if (!isOfConnection(name)) lines.push(line)
    }
  }
  return before.length === 0 ? lines : merged(before, lines)
}

function merged(before: readonly Header[], given: readonly Header[]): readonly Header[] {
  const headers = new Map(groupHeaders(before).map((group) => [group[0].toLowerCase(), group]))
  for (const group of groupHeaders(given)) headers.set(group[0].toLowerCase(), group)
  return [...headers.values()].flatMap(([name, lines]) => lines.map((line): Header => [name, line]))
}

function isPlainHeader([name, value]: Header): boolean {
  return PLAIN_TEXT.test(value) && !isOneOf(SPECIAL, name)
}

function isTextOrNumber(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}

/** Whether Node takes this as the name of a header. */
function isName(name: string): boolean {
  try {
    validateHeaderName(name)
    return true
  } catch {
    return false
  }
}

/** Neither interim, nor one that has no body, nor none at all. */
function isPlainStatus(status: unknown): status is number {
  if (typeof status !== 'number' || !Number.isInteger(status)) return false
  return status >= 200 && status <= 999 && status !== 204 && status !== 304
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Has Node take the head for sent, so that nobody can change it any more; or no longer. That it has
 * ended must not be said by its own `finished`: a server that closes ends such connections.
 */
export function pretendSent(response: ServerResponse, isSent: boolean): void {
  Reflect.set(response, '_header', isSent ? HELD : null)
}

const HELD = 'held back'

/**
 * One for all responses, which keeps them in the shape that the engine is fast with. It stays on
 * them, and says what Node says as soon as nothing is pretended any more.
 */
const ENDED: PropertyDescriptor & ThisType<object> = {
  configurable: true,
  get() {
    if (Reflect.get(this, '_header') === HELD) return true
    return Reflect.get(ServerResponse.prototype, 'writableEnded', this)
  },
}

/**
 * Has a response look sent and ended. Says whether it looks ended: not where somebody else has a say
 * in that.
 */
export function pretendEnded(response: ServerResponse): boolean {
  pretendSent(response, true)
  let holder: object | null = response
  while (holder !== ServerResponse.prototype) {
    if (holder === null || Object.hasOwn(holder, 'writableEnded')) return false
    // The type of what it gives is open.
    holder = Object.getPrototypeOf(holder) as object | null
  }
  return Reflect.defineProperty(response, 'writableEnded', ENDED)
}

/** Gives a response the status of a plain head. */
export function setStatus(response: ServerResponse, { status, message }: PlainHead): void {
  response.statusCode = status
  if (message !== undefined) response.statusMessage = message
}
