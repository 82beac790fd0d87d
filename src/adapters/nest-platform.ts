/**
 * The two platforms that NestJS runs on.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { ExpressRequest } from './express.ts'
import { type FastifyReplyParts, type FastifyRequestParts, protectReply } from './fastify-reply.ts'
import { NodeExchange } from './node-exchange.ts'
import { NodeProtection, type OnError } from './node-protect.ts'
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

/** Resolves when the handler is to run (`proceed`), or when the answer is on its way (`answered`). */
export async function protectPlatform<Tx>(
  guard: Guard<PlatformRequest, Tx>,
  http: PlatformArguments,
): Promise<'proceed' | 'answered'> {
  const response = http.getResponse<ServerResponse | FastifyReplyParts>()
  if ('raw' in response)
    return protectReply<FastifyRequestParts, Tx>(guard, http.getRequest(), response)

  const request = http.getRequest<ExpressRequest>()
  const { originalUrl: url, route: { path } = {} } = request
  const route = typeof path === 'string' ? path : null
  const exchange = new NodeExchange(request, { url, ip: request.ip, route })
  if (!guard.takes(exchange)) return 'proceed'
  markProtected(request)
  const parts = { guard, subject: request, response, onError: http.getNext<OnError>() }
  return new NodeProtection<ExpressRequest, Tx>(parts).protect(exchange)
}
