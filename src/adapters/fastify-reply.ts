/**
 * Protects a request of Fastify, whoever mounts it: a hook, or NestJS on Fastify.
 *
 * @module
 */

import type { IncomingMessage, OutgoingHttpHeader } from 'node:http'
import { invalid } from '../core/options.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { Exchange } from './exchange.ts'
import { type SendingReply, sendThrough } from './fastify-send.ts'
import type { ParsedBody } from './node-body.ts'
import { NodeExchange } from './node-exchange.ts'
import { protectNode, sendNode } from './node-protect.ts'
import type { Guard } from './protect.ts'
import { giveRun, markProtected } from './run-of.ts'

/** What of a Fastify request is used. */
export interface FastifyRequestParts extends ParsedBody {
  readonly raw: IncomingMessage
  readonly method: string
  readonly originalUrl: string
  readonly ip: string
  readonly routeOptions: { readonly url?: string | undefined }
}

/** What of a Fastify reply is used. */
export interface FastifyReplyParts extends SendingReply {
  readonly log: { error(error: unknown, message: string): void }
  getHeaders(): Readonly<Record<string, OutgoingHttpHeader | undefined>>
  removeHeader(name: string): unknown
}

/** Resolves when the handler is to run (`proceed`), or when the answer is on its way (`answered`). */
export async function protectReply<Req extends FastifyRequestParts, Tx>(
  guard: Guard<Req, Tx>,
  request: Req,
  reply: FastifyReplyParts,
): Promise<'proceed' | 'answered'> {
  const { method, originalUrl: path, routeOptions } = request
  if (!guard.takes({ method, path, route: routeOptions.url ?? null })) return 'proceed'
  markProtected(request)
  const { raw: response } = reply
  let before: ReturnType<FastifyReplyParts['getHeaders']> | undefined
  let sending: Promise<void> | undefined
  const start = await protectNode<Req, Tx>({
    guard,
    request,
    response,
    exchange: exchangeOf(request),
    send(answer) {
      if (before === undefined) sending = sendThrough(reply, answer)
      else sendInstead(reply, { answer, before })
    },
    begin(run) {
      before = reply.getHeaders()
      giveRun(request, run)
    },
    onError(error) {
      reply.log.error(error, 'The answer of the handler could not be judged')
      if (response.destroyed) return
      for (const name of Object.keys(reply.getHeaders())) {
        if (before?.[name] === undefined) reply.removeHeader(name)
      }
      reply.send(error)
    },
  })
  await sending
  return start
}

function exchangeOf(request: FastifyRequestParts): Exchange {
  const { raw, originalUrl: url, ip, routeOptions } = request
  const route = routeOptions.url ?? null
  return new NodeExchange(raw, { url, ip, route, parsed: parsedOf(request) })
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
