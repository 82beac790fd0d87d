/**
 * A request, taken apart once: every attempt sends the same bytes.
 *
 * @module
 */

import { keyText } from '../core/dialects/marks.ts'
import type { Context } from './context.ts'
import type { OwnBytes } from './entry.ts'
import { checkedKey, keyOfHeader, uuidV7 } from './key.ts'

/** What can be said about one operation, besides the options of `fetch`. */
export interface OperationOptions {
  /**
   * The key, for an operation that has one already; `null` sends it without, and only once unless
   * its method is safe. A key in the headers counts as well.
   *
   * @default made by the client
   */
  readonly key?: string | null
  /** A value to send as JSON instead of a body. */
  readonly json?: unknown
  /**
   * What the operation changes: operations of one resource are sent one after the other, in the order
   * in which they were begun, also after a reload.
   *
   * @default none, and no order
   */
  readonly resource?: string
  /**
   * How long to try, in milliseconds.
   *
   * @default as the client says
   */
  readonly deadlineMs?: number
}

/** Options of one request. */
export interface ClientInit extends RequestInit, OperationOptions {}

/** A request that can be sent any number of times. */
export interface Outgoing {
  readonly key: string | null
  readonly method: string
  readonly url: string
  readonly headers: Headers
  readonly body: OwnBytes | null
  /** Options of `fetch` that are data. */
  readonly options: Readonly<Record<string, unknown>>
  /** Options of `fetch` that only this process has. */
  readonly extra: RequestInit
  readonly signal?: AbortSignal | undefined
}

const JSON_TYPE = 'application/json'

/** Of the options of `fetch`, those that a later attempt needs as well. */
const OPTIONS = ['credentials', 'mode', 'redirect'] as const

/** Takes what `fetch` takes apart; throws a `TypeError` for what can not be sent twice. */
export async function outgoing(
  input: RequestInfo | URL,
  init: ClientInit,
  context: Context,
): Promise<Outgoing> {
  const request = typeof input === 'object' && 'headers' in input ? input : undefined
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
  const headers = new Headers(init.headers ?? request?.headers)
  const key = keyOf(init.key, { headers, method, context })
  const options = Object.fromEntries(OPTIONS.map((name) => [name, init[name] ?? request?.[name]]))
  const base = context.baseUrl ?? globalThis.location?.href
  return {
    ...{ key, method, headers, options, extra: init },
    // What is no request is a text or an address.
    url: new URL((request?.url ?? input) as string, base).href,
    body: await bytesOf(init, { headers, request }),
    signal: init.signal ?? request?.signal,
  }
}

/** Finds or makes the key, and puts it among the headers. */
function keyOf(
  key: string | null | undefined,
  { headers, method, context }: { headers: Headers; method: string; context: Context },
): string | null {
  const { dialect, methods, keyFormat, newKey, clock, random } = context
  const present = headers.get(dialect.header)
  if (key === null) return null
  if (key === undefined && present !== null) return keyOfHeader(present)
  if (key === undefined && !methods.includes(method)) return null
  const chosen = checkedKey(key ?? newKey?.() ?? uuidV7(clock, random))
  const isQuoted = keyFormat ? keyFormat === 'quoted' : dialect.key?.mode === 'strict'
  const mode = isQuoted ? 'strict' : 'lenient'
  headers.set(dialect.header, keyText({ key: { mode } }, chosen))
  return chosen
}

async function bytesOf(
  { json, body }: ClientInit,
  { headers, request }: { headers: Headers; request: Request | undefined },
): Promise<OwnBytes | null> {
  const content = json === undefined ? body : JSON.stringify(json)
  const kind = Object(content)
  if ('getReader' in kind || Symbol.asyncIterator in kind) {
    throw new TypeError('A stream can be sent only once: give the whole body.')
  }
  // Writes each kind of body as `fetch` would, and names its type; forms get their boundary here.
  const written = content == null && request ? request : new Response(content)
  // The bytes come before the type: `@hono/node-server` replaces `Response` for the whole process, and
  // its class takes every blob for plain text until its body is read. Bun names the type of a text only
  // in the blob; elsewhere that is in lower case, which spoils the boundary of a form.
  const blob = await written.blob()
  const type = json === undefined ? (written.headers.get('Content-Type') ?? blob.type) : JSON_TYPE
  if (type && !headers.has('Content-Type')) headers.set('Content-Type', type)
  const bytes = await blob.arrayBuffer()
  return bytes.byteLength ? new Uint8Array(bytes) : null
}
