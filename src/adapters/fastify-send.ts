/**
 * Sends an answer by the way of the app's own `onSend` hooks: they add their headers, as to every
 * answer, but do not get to change this one, which they may have changed when it was first given.
 *
 * Nearly always Fastify then writes a head and one body. Only that much is waited for; whatever else
 * is done to the response is done to a capture, which takes over as if it had been there all the time.
 *
 * @module
 */

import type { OutgoingHttpHeader, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import type { CapturedResponse, Header } from '../core/response.ts'
import { invoke } from './node-calls.ts'
import { NodeCapture } from './node-capture.ts'
import { Cover } from './node-cover.ts'
import { groupHeaders, isOfConnection, setHeaders } from './node-head.ts'
import { type PlainHead, plainWriteHead, pretendSent } from './node-plain.ts'
import { sendNode } from './node-protect.ts'

/** What of a Fastify reply sends. */
export interface SendingReply {
  readonly raw: ServerResponse
  readonly request: object
  /** Whether the answer is sent, or out of Fastify's hands. */
  readonly sent: boolean
  code(status: number): unknown
  header(name: string, value: string | readonly string[]): unknown
  send(payload: unknown): unknown
  hijack(): unknown
  removeHeader(name: string): unknown
  getHeaders(): Readonly<Record<string, OutgoingHttpHeader | undefined>>
}

/** Sends an answer; resolves when it is on its way, which it mostly is at once. */
export function sendThrough(
  reply: SendingReply,
  answer: CapturedResponse,
): Promise<void> | undefined {
  if (answer.delivery?.bodyForm === 'written') {
    reply.hijack()
    sendNode(reply.raw, answer)
    return undefined
  }
  const before = reply.getHeaders()
  if (!isUndisputed(reply, before, answer)) return sendByHooks(reply, answer)
  // Nothing that Fastify would do shows. Its hooks on the response's end run all the same.
  reply.hijack()
  try {
    for (const [name, value] of Object.entries(before)) {
      // The answer's own holds, for who looks at the reply as well.
      if (OF_BODY.has(name) || isAmong(answer.headers, name)) reply.removeHeader(name)
      else if (value !== undefined) reply.raw.setHeader(name, value)
    }
    sendNode(reply.raw, answer)
  } catch (error) {
    // Nobody else answers any more: the client must not wait for ever.
    reply.raw.destroy()
    throw error
  }
  return undefined
}

function isAmong(headers: readonly Header[], name: string): boolean {
  return headers.some((header) => header[0].toLowerCase() === name)
}

async function sendByHooks(reply: SendingReply, answer: CapturedResponse): Promise<void> {
  const passage = new Passage(reply.raw, answer)
  reply.code(answer.status)
  for (const [name, lines] of groupHeaders(answer.headers)) reply.header(name, lines)
  // A hook tells an answer without a body from others.
  reply.send(answer.body.byteLength === 0 ? undefined : Buffer.from(answer.body))
  await passage.wait()
}

/** Headers that describe a body: those of the answer hold, whatever a hook made of it. */
const OF_BODY: ReadonlySet<string> = new Set([
  ...['content-type', 'content-length', 'content-encoding', 'content-range', 'content-md5'],
  ...['content-digest', 'transfer-encoding', 'trailer', 'etag'],
])

/**
 * Whether nobody has anything to say to an answer but to add headers, which are there already: there is
 * no hook to ask, and the head is as plain as most are.
 */
function isUndisputed(
  { raw, request }: SendingReply,
  before: ReturnType<SendingReply['getHeaders']>,
  { status }: CapturedResponse,
): boolean {
  if (hooksOf(request) !== null || 'stream' in raw || raw.destroyed || raw.closed) return false
  if (raw.headersSent || raw.getHeaderNames().length > 0) return false
  if (status < 200 || status > 599 || status === 204 || status === 304) return false
  for (const name in before) {
    if (isOfConnection(name)) return false
    if (![before[name]].flat().every((line) => typeof line === 'string')) return false
  }
  return true
}

/** Where requests of Fastify keep what is known of their route. */
let route: symbol | undefined

/** The `onSend` hooks of a request; `null` where there are none, `undefined` where that is unknown. */
function hooksOf(request: object): unknown {
  const context = routeContextOf(request)
  return context !== undefined && 'onSend' in context ? context.onSend : undefined
}

/** What Fastify knows of the route of a request; `undefined` where it cannot be found. */
export function routeContextOf(request: object): object | undefined {
  if (route === undefined || !(route in request)) {
    const symbols = Object.getOwnPropertySymbols(request)
    route = symbols.find(({ description }) => description === 'fastify.context')
  }
  // Version 3 has it by a name.
  const context: unknown = Reflect.get(request, route ?? 'context')
  return typeof context === 'object' && context !== null ? context : undefined
}

/** Everything else that begins or ends an answer. */
const OTHERS = ['writeHeader', 'flushHeaders', 'write', 'destroy']

/** The way of one answer through the hooks. */
class Passage {
  readonly #raw: ServerResponse
  readonly #answer: CapturedResponse
  readonly #cover: Cover
  /** The call that wrote the head, and what it wrote. */
  #held: { readonly args: unknown[]; readonly head: PlainHead } | undefined
  #isOver = false
  #sent: Promise<void> | undefined
  #arrive: (sent?: Promise<void>) => void = () => {}

  constructor(raw: ServerResponse, answer: CapturedResponse) {
    this.#raw = raw
    this.#answer = answer
    this.#cover = new Cover(raw)
    this.#cover.method('writeHead', (args) => this.#writeHead(args))
    this.#cover.method('end', (args) => this.#end(args))
    for (const name of OTHERS) this.#cover.method(name, (args) => this.#otherwise(name, args))
    raw.on('pipe', this.#capture)
    if (raw.destroyed || raw.closed) this.#capture()
  }

  /** Resolves when the answer is on its way. */
  wait(): Promise<void> | undefined {
    if (this.#isOver) return this.#sent
    // A hook takes its time, and the client may leave meanwhile.
    this.#raw.prependListener('close', this.#onClose)
    return new Promise((resolve) => {
      this.#arrive = resolve
    })
  }

  #writeHead(args: unknown[]): unknown {
    const head = this.#held === undefined ? plainWriteHead(this.#raw, args) : undefined
    if (head === undefined) return this.#otherwise('writeHead', args)
    this.#held = { args, head }
    pretendSent(this.#raw, true)
    return this.#raw
  }

  #end(args: unknown[]): unknown {
    if (this.#held === undefined) return this.#otherwise('end', args)
    const { headers } = this.#held.head
    this.#leave()
    send(this.#raw, this.#answer, headers)
    this.#arrive()
    return this.#raw
  }

  #otherwise(name: string, args: unknown[]): unknown {
    this.#capture()
    return invoke(this.#raw, name, args)
  }

  readonly #onClose = (): void => this.#capture()

  readonly #capture = (source?: Readable): void => {
    this.#leave()
    const bodyBytesMax = Number.POSITIVE_INFINITY
    const capture = new NodeCapture(this.#raw, { bodyBytesMax, streams: 'buffer' })
    if (source !== undefined) capture.sources.watch(source)
    if (this.#held !== undefined) invoke(this.#raw, 'writeHead', this.#held.args)
    this.#sent = capture.captured.then(({ headers }) => {
      if (capture.discard()) send(this.#raw, this.#answer, headers)
    })
    this.#arrive(this.#sent)
  }

  #leave(): void {
    this.#isOver = true
    this.#cover.lift()
    this.#raw.off('pipe', this.#capture).off('close', this.#onClose)
    if (this.#held !== undefined) pretendSent(this.#raw, false)
  }
}

/** Sends an answer with what hooks said of it besides. */
function send(raw: ServerResponse, answer: CapturedResponse, headers: readonly Header[]): void {
  for (const name of raw.getHeaderNames()) {
    // What was said of the connection holds for whatever is sent.
    if (OF_BODY.has(name) || !isOfConnection(name)) raw.removeHeader(name)
  }
  const names = new Set(answer.headers.map(([name]) => name.toLowerCase()))
  const isOther = ([name]: Header): boolean =>
    !names.has(name.toLowerCase()) && !OF_BODY.has(name.toLowerCase())
  setHeaders(raw, headers.filter(isOther))
  sendNode(raw, answer)
}
