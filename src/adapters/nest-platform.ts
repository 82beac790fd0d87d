/**
 * The two platforms that NestJS runs on.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { ExpressRequest } from './express.ts'
import { type FastifyReplyParts, type FastifyRequestParts, protectionOf } from './fastify-reply.ts'
import { NodeExchange } from './node-exchange.ts'
import { NodeProtection, type OnError, type Start } from './node-protect.ts'
import type { Guard } from './protect.ts'
import { markProtected } from './run-of.ts'

/** A request of either platform. */
export type PlatformRequest = ExpressRequest | FastifyRequestParts

/** What Nest hands to a handler of either platform. */
export interface PlatformArguments {
  getRequest<T>(): T
  getResponse<T>(): T
  getNext<T>(): T
}

/** A request of either platform that is protected, and how its platform answers. */
export interface PlatformProtection {
  /** Says what is to happen: the handler is to run, or the answer is on its way. */
  start(): Start | Promise<Start>
  /** Calls the handler. */
  handle<T>(call: () => T): T
  /** Whether the handler is known to run still. */
  readonly isHandling: boolean
  /** Answers with what the handler has returned, as Nest would have. */
  reply(value: unknown): void
  /** No answer of the handler will come. */
  abandon(error: unknown): void
  /** Calls `listener` when the handler is over and the client has an answer from elsewhere. */
  whenLate(listener: () => void): void
}

/** The protection of a request; `undefined` where it is not to be protected. */
export function protectPlatform<Tx>(
  guard: Guard<PlatformRequest, Tx>,
  http: PlatformArguments,
): PlatformProtection | undefined {
  const response = http.getResponse<ExpressResponse | FastifyReplyParts>()
  if ('raw' in response) {
    const protection = protectionOf<FastifyRequestParts, Tx>(guard, http.getRequest(), response)
    return (
      protection &&
      platformOf(
        protection,
        () => protection.start(),
        (value) => {
          response.send(value)
        },
      )
    )
  }

  const request = http.getRequest<ExpressRequest>()
  const { originalUrl: url, route: { path } = {} } = request
  const route = typeof path === 'string' ? path : null
  const exchange = new NodeExchange(request, { url, ip: request.ip, route })
  if (!guard.takes(exchange)) return undefined
  markProtected(request)
  const parts = { guard, subject: request, response, onError: http.getNext<OnError>() }
  const protection = new NodeProtection<ExpressRequest, Tx>(parts)
  return platformOf(
    protection,
    () => protection.protect(exchange),
    (value) => {
      if (typeof value === 'object' && value !== null) response.json(value)
      else response.send(textOf(value))
    },
  )
}

/** What Nest sends for a value that is no object. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** What of an Express response answers. */
interface ExpressResponse extends ServerResponse {
  send(body?: string): unknown
  json(body: object): unknown
}

function platformOf<Req extends object, Tx>(
  protection: NodeProtection<Req, Tx>,
  start: () => Start | Promise<Start>,
  send: (value: unknown) => void,
): PlatformProtection {
  return {
    start,
    handle: (call) => protection.handle(call),
    get isHandling() {
      return protection.isHandling
    },
    reply: (value) => {
      // Nest pipes it, and the client that it was for has another answer.
      if (isStreamableFile(value)) protection.abandon(new Error('The file was not sent.'))
      else protection.answerLate(() => send(value))
    },
    abandon: (error) => protection.abandon(error),
    whenLate: (listener) => {
      protection.onLateEnd = listener
    },
  }
}

/** Nest's `StreamableFile`. */
function isStreamableFile(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'getStream' in value
}
