/**
 * Protects a request of Fastify, whoever mounts it: a hook, or NestJS on Fastify.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { isLater } from '../core/later.ts'
import { invalid } from '../core/options.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { Exchange } from './exchange.ts'
import { type SendingReply, sendThrough } from './fastify-send.ts'
import type { ParsedBody } from './node-body.ts'
import type { NodeCapture } from './node-capture.ts'
import { NodeExchange } from './node-exchange.ts'
import { written } from './node-head.ts'
import { type NodeParts, NodeProtection, type Start, sendNode } from './node-protect.ts'
import type { Guard } from './protect.ts'
import { markProtected } from './run-of.ts'
import type { HttpRun } from './watched-handler.ts'

/** What of a Fastify request is used. */
export interface FastifyRequestParts extends ParsedBody {
  readonly raw: IncomingMessage
  readonly method: string
  readonly originalUrl: string
  readonly ip: string
  readonly routeOptions?: { readonly url?: string | undefined }
  /** What versions before 4.10 have in place of `routeOptions`. */
  readonly routerPath?: string | undefined
}

/** What of a Fastify reply is used. */
export interface FastifyReplyParts extends SendingReply {
  readonly log: { error(error: unknown, message: string): void }
}

/**
 * Says that the handler is to run (`proceed`), or that the answer is on its way (`answered`): at once
 * where nothing has to be waited for.
 */
export function protectReply<Req extends FastifyRequestParts, Tx>(
  guard: Guard<Req, Tx>,
  request: Req,
  reply: FastifyReplyParts,
): Start | Promise<Start> {
  const { method, originalUrl: path } = request
  if (!guard.takes({ method, path, route: routeOf(request) })) return 'proceed'
  markProtected(request)
  const { raw: response } = reply
  const protection = new FastifyProtection({ guard, subject: request, response }, reply)
  const start = protection.protect(exchangeOf(request))
  if (!isLater(start)) return protection.sending?.then(() => start) ?? start
  return start.then((later) => protection.sending?.then(() => later) ?? later)
}

class FastifyProtection<Req extends object, Tx> extends NodeProtection<Req, Tx> {
  /** Resolves when an answer is on its way; there while it is not. */
  sending: Promise<void> | undefined
  readonly #reply: FastifyReplyParts
  /** The headers that were set before the handler ran. */
  #before: ReturnType<FastifyReplyParts['getHeaders']> | undefined

  constructor(parts: NodeParts<Req, Tx>, reply: FastifyReplyParts) {
    super(parts)
    this.#reply = reply
  }

  protected override onError(error: unknown): void {
    const reply = this.#reply
    reply.log.error(error, 'The answer of the handler could not be judged')
    if (this.response.destroyed) return
    for (const name of Object.keys(reply.getHeaders())) {
      if (this.#before?.[name] === undefined) reply.removeHeader(name)
    }
    reply.send(error)
  }

  protected override send(answer: CapturedResponse): void {
    const before = this.#before
    if (before === undefined) this.sending = sendThrough(this.#reply, answer)
    else sendInstead(this.#reply, { answer, before })
  }

  /** What is written past Fastify is replayed past it. */
  protected override answerOf(capture: NodeCapture): Promise<CapturedResponse> {
    const answer = super.answerOf(capture)
    return answer.then((given) => (isHijacked(this.#reply) ? written(given) : given))
  }

  protected override begin(run: HttpRun<Tx>): void {
    this.#before = this.#reply.getHeaders()
    super.begin(run)
  }
}

/** Where a reply notes that the handler has taken it out of Fastify's hands. */
let hijacked: symbol | undefined

function isHijacked(reply: object): boolean {
  hijacked ??= Object.getOwnPropertySymbols(reply).find(
    ({ description }) => description === 'fastify.reply.hijacked',
  )
  return hijacked !== undefined && Reflect.get(reply, hijacked) === true
}

function exchangeOf(request: FastifyRequestParts): Exchange {
  const { raw, originalUrl: url, ip } = request
  return new NodeExchange(raw, { url, ip, route: routeOf(request), parsed: parsedOf(request) })
}

/** The template of the route. Newer versions warn of `routerPath`, so it is only read without the other. */
function routeOf(request: FastifyRequestParts): string | null {
  const { routeOptions } = request
  return (routeOptions === undefined ? request.routerPath : routeOptions.url) ?? null
}

/** What the content type parser made of the body; nothing, where it left the stream alone. */
function parsedOf({ body, rawBody, raw }: FastifyRequestParts): ParsedBody {
  if (rawBody !== undefined) return { body, rawBody }
  if (body === raw) return {}
  if (typeof body === 'object' && body !== null && 'pipe' in body) {
    throw invalid('the body is a stream that only the handler can read: set request.rawBody')
  }
  return { body }
}

/** Sends in place of the handler's answer, which Fastify takes for sent; keeps what came before it. */
function sendInstead(
  { raw }: FastifyReplyParts,
  {
    answer,
    before,
  }: { answer: CapturedResponse; before: ReturnType<FastifyReplyParts['getHeaders']> },
): void {
  for (const [name, value] of Object.entries(before)) {
    if (value !== undefined) raw.setHeader(name, value)
  }
  sendNode(raw, answer)
}
