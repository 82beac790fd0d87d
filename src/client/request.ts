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

/** What a request says besides its body. */
export interface Head {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** Options of `fetch` that are data. */
  readonly options: Readonly<Record<string, unknown>>
}

/** A request with a key, which can be sent any number of times. */
export interface Outgoing extends Head {
  readonly key: string
  readonly body: OwnBytes | null
  /** Options of `fetch` that only this process has. */
  readonly extra: RequestInit
}

const JSON_TYPE = 'application/json'

/** Of the options of `fetch`, those that a later attempt needs as well. */
const OPTIONS = [
  ...(['cache', 'credentials', 'integrity', 'keepalive'] as const),
  ...(['mode', 'redirect', 'referrer', 'referrerPolicy'] as const),
]

/** The request that `fetch` was given, if it was given one. */
export function requestIn(input: RequestInfo | URL): Request | undefined {
  return typeof input === 'object' && 'headers' in input ? input : undefined
}

/**
 * Takes what `fetch` takes apart, without its body. The key is `null` where there is to be none.
 *
 * @throws TypeError for a key, or a mode, that can not be
 */
export function headOf(
  input: RequestInfo | URL,
  init: ClientInit,
  context: Context,
): Head & { readonly key: string | null } {
  const request = requestIn(input)
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
  const headers = new Headers(init.headers ?? request?.headers)
  const key = keyOf(init.key, { headers, method, context })
  const options = Object.fromEntries(OPTIONS.map((name) => [name, init[name] ?? request?.[name]]))
  if (key !== null && options['mode'] === 'no-cors') {
    throw new TypeError(
      "The mode 'no-cors' leaves the key out: use another, or send with key: null.",
    )
  }
  return { key, method, headers, options, url: addressOf(input, context) }
}

/** The whole address. */
export function addressOf(input: RequestInfo | URL, { baseUrl }: Pick<Context, 'baseUrl'>): string {
  const base = baseUrl ?? globalThis.location?.href
  // What is no request is a text or an address.
  return new URL((requestIn(input)?.url ?? input) as string, base).href
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

/**
 * The bytes of the body; names their type among the headers.
 *
 * @throws TypeError for a stream, which can not be sent twice
 */
export async function bytesOf(
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
