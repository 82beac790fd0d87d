/**
 * Answers as they stand in a Koa context: what a handler left there is stored, and a replay puts the same
 * there again. So the middleware in front of the protection does to a replay what it did to the first
 * answer.
 *
 * @module
 */

import { isUtf8 } from 'node:buffer'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { essenceOf, isJson } from '../core/media-type.ts'
import {
  type BodyForm,
  type CapturedResponse,
  type Delivery,
  type Header,
  keptHeaders,
} from '../core/response.ts'
import { deliveryOf, groupHeaders, headersOf, isOfConnection } from './node-head.ts'
import { sendNode } from './node-protect.ts'
import type { CaptureOptions } from './options.ts'

/** What of a Koa context an answer is made of. */
export interface AnswerContext {
  readonly res: ServerResponse
  /** Koa's own notes of what the handler has set. */
  readonly response: object
  status: number
  message: string
  body: unknown
  /** Whether Koa answers, which is what it does unless this is `false`. */
  respond?: boolean | undefined
  set(name: string, value: string | string[]): void
  remove(name: string): void
}

/** A body that is not a stream. */
interface WholeBody {
  readonly form: BodyForm
  readonly bytes: Uint8Array
}

/**
 * The answer that stands in a context. A stream in it is read, and replaced by one that gives the same.
 * Resolves to `undefined` where only Koa knows what it will send, and where it would fail: then what Koa
 * writes is the answer.
 *
 * @throws what the stream fails with
 */
export async function answerIn(
  ctx: AnswerContext,
  options: CaptureOptions,
): Promise<CapturedResponse | undefined> {
  const { body } = ctx
  if (body instanceof Readable) return streamIn(ctx, body, options)
  const whole = wholeBody(ctx)
  return whole && captured(ctx, whole)
}

function wholeBody(ctx: AnswerContext): WholeBody | undefined {
  const { body } = ctx
  if (body === null) return { form: 'null', bytes: NOTHING }
  if (body === undefined) return { form: isUntouched(ctx) ? 'untouched' : 'none', bytes: NOTHING }
  if (Buffer.isBuffer(body)) return { form: 'bytes', bytes: body }
  if (typeof body === 'string') return { form: 'text', bytes: Buffer.from(body) }
  if (OTHER_BODIES.some((type) => body instanceof type) || isPipe(body)) return undefined
  const json = jsonOf(body)
  return json === undefined ? undefined : { form: 'json', bytes: Buffer.from(json) }
}

const NOTHING = new Uint8Array()

/** Koa 3 streams these, Koa 2 takes them for values. */
const OTHER_BODIES = [Blob, ReadableStream, Response]

/** Streams that are not Node's own. */
function isPipe(body: unknown): boolean {
  return typeof body === 'object' && body !== null && 'pipe' in body
}

/** Koa's status is 404 until somebody sets one. */
function isUntouched({ status, response }: AnswerContext): boolean {
  return status === 404 && Reflect.get(response, '_explicitStatus') !== true
}

/** The text that Koa would send; `undefined` where it would fail. */
function jsonOf(body: unknown): string | undefined {
  try {
    return JSON.stringify(body)
  } catch {
    return undefined
  }
}

async function streamIn(
  ctx: AnswerContext,
  source: Readable,
  { bodyBytesMax, streams }: CaptureOptions,
): Promise<CapturedResponse | undefined> {
  const type = ctx.res.getHeader('Content-Type')
  // Events come one by one; a client that waits for the first would wait for ever.
  if (streams === 'bypass' || /^text\/event-stream\b/i.test(String(type))) return undefined
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of source.iterator({ destroyOnReturn: false })) {
    // Koa fails at anything else.
    if (typeof chunk !== 'string' && !(chunk instanceof Uint8Array)) return undefined
    const part = Buffer.from(chunk)
    chunks.push(part)
    bytes += part.byteLength
    if (bytes > bodyBytesMax) break
  }
  const isWhole = bytes <= bodyBytesMax
  replace(ctx, source, isWhole ? Readable.from(chunks) : Readable.from(all(chunks, source)))
  if (!isWhole) return { ...headOf(ctx), body: NOTHING, bodyIsStream: true }
  const answer = captured(ctx, { form: 'stream', bytes: Buffer.concat(chunks) })
  if (bytes === 0 || ctx.res.hasHeader('Content-Length')) return answer
  return { ...answer, delivery: { ...answer.delivery, isChunked: true } }
}

async function* all(chunks: readonly Buffer[], rest: Readable): AsyncIterable<unknown> {
  yield* chunks
  yield* rest
}

/**
 * Puts a stream in the place of one that was read. Not by `ctx.body`: Koa would take the length away that
 * the handler has given, and Node would remember that.
 */
function replace({ res, response }: AnswerContext, source: Readable, stream: Readable): void {
  // Middleware that makes entity tags of files asks a stream for its file.
  if ('path' in source) Object.assign(stream, { path: source.path })
  res.once('close', () => stream.destroy())
  Reflect.set(response, '_body', stream)
}

function headOf(ctx: AnswerContext): Omit<CapturedResponse, 'body'> {
  const { res, status } = ctx
  const message = 'stream' in res ? undefined : res.statusMessage
  const headers = headersOf(res).filter(([name]) => !isOfConnection(name))
  return { status, headers, delivery: deliveryOf({ status, message, isChunked: false }) }
}

function captured(ctx: AnswerContext, { form, bytes }: WholeBody): CapturedResponse {
  const answer = { ...headOf(ctx), body: bytes }
  return form === usualForm(answer) ? answer : { ...answer, delivery: withForm(answer, form) }
}

function withForm({ delivery }: Pick<CapturedResponse, 'delivery'>, bodyForm: BodyForm): Delivery {
  return { ...delivery, bodyForm }
}

/** As what a body is given that says nothing else. */
function usualForm({ headers, body }: Pick<CapturedResponse, 'headers' | 'body'>): BodyForm {
  const isType = ([name]: Header) => name.toLowerCase() === 'content-type'
  const essence = essenceOf(headers.find(isType)?.[1])
  if (!isUtf8(body)) return 'bytes'
  if (isJson(essence)) return 'json'
  return essence.startsWith('text/') ? 'text' : 'bytes'
}

/** Puts an answer into a context, so that the middleware in front can do its part. */
export function giveAnswer(ctx: AnswerContext, answer: CapturedResponse): void {
  const { status, headers, delivery = {} } = answer
  const form = delivery.bodyForm ?? usualForm(answer)
  if (form === 'written') return sendWritten(ctx, answer)
  // Before the status, which Koa would change with some bodies.
  if (form !== 'none' && form !== 'untouched') ctx.body = bodyIn(answer, form)
  if (form !== 'untouched' || status !== ctx.status) ctx.status = status
  if (delivery.statusMessage !== undefined) ctx.message = delivery.statusMessage
  // Koa has made a guess.
  if (form !== 'none' && form !== 'untouched') ctx.remove('Content-Type')
  for (const [name, lines] of groupHeaders(headers)) {
    const [only = ''] = lines
    ctx.set(name, lines.length === 1 ? only : lines)
  }
  if (form === 'stream' && delivery.isChunked !== true && answer.body.byteLength > 0) {
    ctx.set('Content-Length', String(answer.body.byteLength))
  }
}

/** The body as the handler gave it. */
function bodyIn({ body }: CapturedResponse, form: BodyForm): unknown {
  const bytes = Buffer.from(body)
  switch (form) {
    case 'null':
      return null
    case 'stream':
      return Readable.from(bytes.byteLength === 0 ? [] : [bytes])
    case 'text':
      return bytes.toString()
    case 'json':
      return valueOf(bytes.toString())
    default:
      return bytes
  }
}

/** The value of JSON that Koa would write in the same way; else the text itself. */
function valueOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return value !== null && JSON.stringify(value) === text ? value : text
  } catch {
    return text
  }
}

/**
 * Sends an answer that was written to the response itself: by the handler, or by whoever made an answer
 * of what it threw. The middleware in front had its say then, and gets none now.
 */
function sendWritten(ctx: AnswerContext, answer: CapturedResponse): void {
  const { res } = ctx
  const names = new Set(answer.headers.map(([name]) => name.toLowerCase()))
  for (const name of res.getHeaderNames()) {
    // A header that would have been stored, had the first answer had it.
    if (!names.has(name) && keptHeaders([[name, '']]).length > 0) res.removeHeader(name)
  }
  ctx.respond = false
  sendNode(res, answer)
}
