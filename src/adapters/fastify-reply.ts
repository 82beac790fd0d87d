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
import { routeContextOf, type SendingReply, sendThrough } from './fastify-send.ts'
import { type HandlerContext, isThenable } from './handler-context.ts'
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

/** Where a request has its protection, for the function that calls the handler. */
const PROTECTION: unique symbol = Symbol('reprise.protection')

interface Carrier {
  [PROTECTION]?: FastifyProtection<FastifyRequestParts, unknown>
}

/** Handlers that tell the protection of their request when they are over. */
const watched = new WeakSet<object>()

/**
 * Has Fastify call the handler of a route in a way that its end is known. Fastify gives hooks no way to
 * the handler; where it is not found, every answer counts as the handler's.
 */
export function watchHandler(request: object): void {
  const context = routeContextOf(request)
  const handler: unknown = context && Reflect.get(context, 'handler')
  if (context === undefined || typeof handler !== 'function' || watched.has(handler)) return
  const calling = function (this: unknown, ...args: unknown[]): unknown {
    const call = (): unknown => Reflect.apply(handler, this, args)
    // Fastify gives it the request first.
    const { [PROTECTION]: protection } = args[0] as Carrier
    return protection === undefined ? call() : protection.handleWatched(call)
  }
  watched.add(calling)
  Reflect.set(context, 'handler', calling)
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
  const protection = protectionOf(guard, request, reply)
  if (protection === undefined) return 'proceed'
  const proceed = (start: Start): Start => {
    // A hook in front has answered before the claim was decided: Fastify calls no handler then.
    if (start === 'proceed' && protection.isAnsweredEarly) protection.renounce()
    return start
  }
  const start = protection.start()
  return isLater(start) ? start.then(proceed) : proceed(start)
}

/** The protection of a request; `undefined` where it is not to be protected. */
export function protectionOf<Req extends FastifyRequestParts, Tx>(
  guard: Guard<Req, Tx>,
  request: Req,
  reply: FastifyReplyParts,
): FastifyProtection<Req, Tx> | undefined {
  const { method, originalUrl: path } = request
  if (!guard.takes({ method, path, route: routeOf(request) })) return undefined
  markProtected(request)
  const { raw: response } = reply
  const protection = new FastifyProtection({ guard, subject: request, response }, reply)
  Object.defineProperty(request, PROTECTION, { value: protection, configurable: true })
  return protection
}

/** The method that makes an object a promise. */
type Then = (
  fulfilled?: ((value: unknown) => unknown) | null,
  rejected?: ((error: unknown) => unknown) | null,
) => PromiseLike<unknown>

/** One request of Fastify that is protected. */
export class FastifyProtection<Req extends FastifyRequestParts, Tx> extends NodeProtection<
  Req,
  Tx
> {
  /** Resolves when an answer is on its way; there while it is not. */
  #sending: Promise<void> | undefined
  readonly #reply: FastifyReplyParts
  #handler: HandlerContext | undefined
  /** The headers that the handler itself has set. */
  readonly #own: Parameters<SendingReply['header']>[] = []
  /** The headers that were set before the handler ran. */
  #before: ReturnType<FastifyReplyParts['getHeaders']> | undefined

  constructor(parts: NodeParts<Req, Tx>, reply: FastifyReplyParts) {
    super(parts)
    this.#reply = reply
  }

  /** As {@link NodeProtection.protect}; an answer in place of the handler's is on its way then. */
  start(): Start | Promise<Start> {
    const start = this.protect(exchangeOf(this.subject))
    return isLater(start) ? start.then((later) => this.#sent(later)) : this.#sent(start)
  }

  /** Waits until the answer is on its way, if there is one. */
  #sent(start: Start): Start | Promise<Start> {
    return this.#sending?.then(() => this.#concluded(start)) ?? this.#concluded(start)
  }

  /**
   * Has Fastify go no further when there is an answer. Over HTTP/2 the response to a client that has
   * gone does not say that it was ended, and Fastify would call the handler.
   */
  #concluded(start: Start): Start {
    const reply = this.#reply
    if (start === 'answered' && !reply.raw.writableEnded) reply.hijack()
    return start
  }

  /** Hooks may take their time before they send what the handler has returned. */
  protected override get mayAnswerLater(): boolean {
    return true
  }

  /** Calls the handler. What Fastify does with what it returns is a part of the handler too. */
  handleWatched(call: () => unknown): unknown {
    const returned = this.handle(call)
    const handler = this.#handler
    if (handler === undefined || !isThenable(returned)) return returned
    const asPart =
      (next: ((value: unknown) => unknown) | null | undefined) =>
      (value: unknown): unknown =>
        handler.run(() => next?.(value))
    const then: Then = (fulfilled, rejected) => returned.then(asPart(fulfilled), asPart(rejected))
    return new Proxy(returned, {
      get: (target, key) => (key === 'then' ? then : Reflect.get(target, key, target)),
    })
  }

  protected override divide(handler: HandlerContext): void {
    const reply = this.#reply
    this.#handler = handler
    // A handler that returns its reply waits for it to be sent, and the answer waits to be stored.
    const then: Then = async (fulfilled, rejected) => {
      handler.waitForAnswer()
      return reply.sent
        ? fulfilled?.(undefined)
        : this.captured?.then(() => fulfilled?.(undefined), rejected)
    }
    Reflect.set(reply, 'then', then)
    const { header } = reply
    Object.defineProperty(reply, 'header', {
      configurable: true,
      writable: true,
      value: (...args: Parameters<typeof header>) => {
        if (!handler.isForeign) this.#own.push(args)
        return Reflect.apply(header, reply, args)
      },
    })
  }

  protected override unite(): void {
    Reflect.deleteProperty(this.#reply, 'header')
    Reflect.deleteProperty(this.#reply, 'then')
  }

  /** The headers of the reply are in its own hands until they are sent. */
  protected override startLate(): void {
    Reflect.deleteProperty(this.#reply, 'header')
    this.#removeHeaders()
    for (const args of this.#own) this.#reply.header(...args)
  }

  protected override onError(error: unknown): void {
    const reply = this.#reply
    reply.log.error(error, 'The answer of the handler could not be judged')
    if (this.response.destroyed) return
    this.#removeHeaders()
    takeBack(reply)
    // Fastify sends nothing by a reply that counts as sent: the connection is cut then.
    if (reply.sent) throw error
    reply.send(error)
  }

  /** Removes the headers that were not there before the handler ran. */
  #removeHeaders(): void {
    const reply = this.#reply
    for (const name of Object.keys(reply.getHeaders())) {
      if (this.#before?.[name] === undefined) reply.removeHeader(name)
    }
  }

  protected override send(answer: CapturedResponse): void {
    const before = this.#before
    if (before === undefined) this.#sending = sendThrough(this.#reply, answer)
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

/**
 * Gives a reply back to Fastify that the handler has hijacked. What the handler wrote is discarded, so
 * Fastify has to answer in its place.
 */
function takeBack(reply: object): void {
  if (isHijacked(reply) && hijacked !== undefined) Reflect.set(reply, hijacked, false)
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
