/**
 * Looks at a `Response` without changing it, and makes one.
 *
 * What is stored is read from a copy; the handler's own object is what goes out, with its status
 * text, its stream and whatever else it carries.
 *
 * @module
 */

import type { CapturedResponse, Delivery, Header } from '../core/response.ts'
import { systemClock } from '../engine/clock.ts'
import { hiddenIn } from './fetch-body.ts'
import type { CaptureOptions } from './options.ts'

/** Captures a response, up to the limit; a stream that goes on beyond it only by its head. */
export async function captureResponse(
  response: Response,
  { bodyBytesMax, streams }: CaptureOptions,
): Promise<CapturedResponse> {
  // Before the body is touched: some servers make up the content type only for those who look.
  const headers: readonly Header[] = [...response.headers]
  const given = givenBody(response)
  // A light response has no reason phrase, and to look for one would make it a real response.
  const statusText = given === undefined ? response.statusText : ''
  const head = { status: response.status, headers, delivery: deliveryOf(statusText, headers) }
  const streamed = { ...head, body: new Uint8Array(), bodyIsStream: true }
  if (given !== undefined && !isEventStream(response)) return { ...head, body: Buffer.from(given) }
  if (isUnsendable(response)) return { ...head, body: new Uint8Array() }
  // Events come one by one; a client that waits for the first would wait for ever.
  if (isEventStream(response) && response.body !== null) return streamed

  // Deno sends a body in chunks, without its length, once somebody has looked at `body` of the response itself.
  const reader = response.clone().body?.getReader()
  if (reader === undefined) return { ...head, body: new Uint8Array() }
  const chunks: Uint8Array[] = []
  let bytes = 0
  for (;;) {
    const isPatient = streams === 'buffer' && bytes <= bodyBytesMax
    const next = await (isPatient ? reader.read() : atOnce(reader.read()))
    if (next?.done === true)
      return { ...(await typed(response, head)), body: Buffer.concat(chunks) }
    // What is over the limit may still be whole, in one piece; what are no bytes can not be kept.
    if (next === undefined || bytes > bodyBytesMax || !ArrayBuffer.isView(next.value)) break
    chunks.push(next.value)
    bytes += next.value.byteLength
  }
  // Not awaited: a copy counts as cancelled only when the original is cancelled too.
  reader.cancel().catch(() => undefined)
  return streamed
}

/** What is stored before the body. */
type Head = Pick<CapturedResponse, 'status' | 'headers' | 'delivery'>

/** What the handler said of its answer: a reason phrase, and the length of the body. */
function deliveryOf(statusText: string, headers: readonly Header[]): Delivery | undefined {
  const hasLength = headers.some(([name]) => name === 'content-length')
  if (statusText === '') return hasLength ? { hasLength } : undefined
  return hasLength ? { statusMessage: statusText, hasLength } : { statusMessage: statusText }
}

const isBun = 'Bun' in globalThis

/** Bun names the type of a text only when it sends it, and to those who read it as a blob. */
async function typed(response: Response, head: Head): Promise<Head> {
  if (!isBun || response.headers.has('content-type')) return head
  const { type } = await response.clone().blob()
  return type === '' ? head : { ...head, headers: [...head.headers, ['content-type', type]] }
}

/**
 * The body of a light response of Hono's server on Node: it is made of status, body and headers. The
 * server sends just those, unless somebody looks at the body, which makes it a real response.
 */
function givenBody(response: Response): string | Uint8Array | undefined {
  const [status, body]: readonly unknown[] = hiddenIn(response).find(Array.isArray) ?? []
  const isGiven = typeof body === 'string' || body instanceof Uint8Array
  return isGiven && status === response.status ? body : undefined
}

/** The response with headers added: the same object, wherever that can be done. */
export function markResponse(response: Response, marks: readonly Header[]): Response {
  if (marks.length === 0 || isUnsendable(response)) return response
  try {
    for (const [name, value] of marks) response.headers.set(name, value)
    return response
  } catch {
    // Redirects and what `fetch` gave can not be changed.
    const copy = new Response(response.body, response)
    for (const [name, value] of marks) copy.headers.set(name, value)
    return copy
  }
}

/** Statuses whose responses can not be made with a body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** What a `Response` is made of for an answer that is not the handler's. */
export function responseParts({ status, headers, body, delivery }: CapturedResponse): {
  readonly body: Uint8Array<ArrayBuffer> | null
  readonly init: {
    readonly status: number
    readonly statusText: string
    readonly headers: [string, string][]
  }
} {
  const isEmpty = body.byteLength === 0 || WITHOUT_BODY.has(status)
  const length: readonly Header[] =
    delivery?.hasLength === true && !WITHOUT_BODY.has(status)
      ? [['content-length', String(body.byteLength)]]
      : []
  return {
    // No store gives memory that is shared with other threads.
    body: isEmpty ? null : (body as Uint8Array<ArrayBuffer>),
    init: {
      status,
      statusText: delivery?.statusMessage ?? '',
      headers: [...headers, ...length].map(([name, value]): [string, string] => [name, value]),
    },
  }
}

/** Upgrades and network errors: neither can be made by hand, and they answer nothing. */
function isUnsendable({ status }: Response): boolean {
  return status < 200 || status > 599
}

function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
}

/** What a promise gives without waiting for anything outside of the process; else `undefined`. */
function atOnce<T>(promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise.catch(() => undefined), turns()])
}

/** A body that is all there is read in one turn; the others are for servers' own streams. */
const TURNS = 4

async function turns(): Promise<undefined> {
  for (let turn = 0; turn < TURNS; turn++) await new Promise<void>(nextTurn)
}

/** The streams of Cloudflare's workerd are outside of JavaScript: even what is all there takes a turn of its event loop. */
const nextTurn: (resolve: () => void) => void =
  globalThis.navigator?.userAgent === 'Cloudflare-Workers'
    ? (resolve) => void systemClock.after(0, resolve)
    : process.nextTick
