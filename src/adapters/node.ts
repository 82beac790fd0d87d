/**
 * Plain `node:http`, `node:https` and `node:http2` (its compatibility API).
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { isLater } from '../core/later.ts'
import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import { NodeExchange } from './node-exchange.ts'
import { NodeProtection } from './node-protect.ts'
import { checkHandler, type HttpOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'
import { markProtected } from './run-of.ts'

export { runOf, txOf } from './run-of.ts'

/** Settings of a handler. */
export interface NodeOptions<Req, Tx = unknown> extends HttpOptions<Req, Tx> {
  /**
   * Answers when the handler fails, or what stands before it. What it writes is what is judged. A
   * response that is left without an end is ended, or cut off if its head has been written.
   *
   * @default a 500 without a body; the error becomes a warning of the process
   */
  readonly onError?: (error: unknown, request: Req, response: ServerResponse) => void
}

/** A handler of requests. */
export type NodeHandler<Req> = (request: Req, response: ServerResponse) => void | Promise<void>

/**
 * Makes a handler safe to be asked again. Such a handler has no route template: the path itself is
 * part of the operation, unless `operation` names it.
 *
 * @example
 * ```ts
 * createServer(idempotent(reprise, { caller: accountOf }, async (request, response) => {
 *   response.writeHead(201).end(JSON.stringify(await createCharge(request)))
 * }))
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function idempotent<Req extends IncomingMessage, Tx = never>(
  reprise: Reprise<Tx>,
  options: NodeOptions<Req, Tx>,
  handler: NodeHandler<Req>,
): (request: Req, response: ServerResponse) => void {
  const guard = new Guard<Req, Tx>(reprise, options, { isRepeatable: false, own: ['onError'] })
  checkHandler(handler)
  const { onError = answerFailure } = options
  const handle = async (request: Req, response: ServerResponse) => {
    const fail = (error: unknown) => {
      onError(error, request, response)
      if (response.headersSent && !response.writableEnded) response.destroy()
      else response.end()
    }
    try {
      const exchange = new NodeExchange(request)
      if (guard.takes(exchange)) {
        markProtected(request)
        const parts = { guard, subject: request, response, onError: fail }
        const protection = new NodeProtection(parts)
        const start = protection.protect(exchange)
        if ((isLater(start) ? await start : start) === 'answered') return
        await protection.handle(() => handler(request, response))
      } else await handler(request, response)
    } catch (error) {
      fail(error)
    }
  }
  return function idempotency(request, response) {
    handle(request, response).catch((error: unknown) => {
      warn(error)
      response.destroy()
    })
  }
}

/**
 * Has an operation in phases answer requests: its input is what the body says.
 *
 * @example
 * ```ts
 * createServer(serve(createRide, { caller: accountOf }))
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function serve<Req extends IncomingMessage>(
  operation: Servable,
  options: ServeOptions<Req> & Pick<NodeOptions<Req>, 'onError'>,
): (request: Req, response: ServerResponse) => void {
  const settings = { ...options, ...serving(operation, options) }
  return idempotent<Req, unknown>(operation.reprise, settings, (_, response) => {
    // A request with another method is none for the operation.
    response.writeHead(405).end()
  })
}

function answerFailure(error: unknown, _request: IncomingMessage, response: ServerResponse): void {
  warn(error)
  if (!response.headersSent) response.statusCode = 500
}

function warn(error: unknown): void {
  process.emitWarning(error instanceof Error ? error : String(error))
}
