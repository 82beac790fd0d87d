/**
 * Handlers from `Request` to `Response`: Bun, Deno, Cloudflare, or Node behind a bridge.
 *
 * @module
 */

import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import { protectHandler } from './fetch-protect.ts'
import { checkHandler, type HttpOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'

export { runOf, txOf } from './run-of.ts'

/** A handler; what its platform gives it besides the request is passed through. */
export type FetchHandler<Rest extends readonly unknown[] = readonly unknown[]> = (
  request: Request,
  ...rest: Rest
) => Response | Promise<Response>

/**
 * Makes a handler safe to be asked again. Such a handler has no route template: the path itself is
 * part of the operation, unless `operation` names it.
 *
 * In transaction mode the handler may be called again with a copy of the request, when its
 * transaction loses to another.
 *
 * @example
 * ```ts
 * const handler = idempotent(reprise, { caller: accountOf }, async (request) => {
 *   return Response.json(await createCharge(await request.json()), { status: 201 })
 * })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function idempotent<Rest extends readonly unknown[], Tx = never>(
  reprise: Reprise<Tx>,
  options: HttpOptions<Request, Tx>,
  handler: FetchHandler<Rest>,
): (request: Request, ...rest: Rest) => Promise<Response> {
  const isRepeatable = (Object(options).transaction ?? false) !== false
  const guard = new Guard<Request, Tx>(reprise, options, { isRepeatable })
  checkHandler(handler)
  return protectHandler({ guard, handler, isRepeatable })
}

/**
 * Has an operation in phases answer requests: its input is what the body says.
 *
 * @example
 * ```ts
 * const handler = serve(createRide, { caller: accountOf })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function serve(
  operation: Servable,
  options: ServeOptions<Request>,
): (request: Request) => Promise<Response> {
  return idempotent<[], unknown>(operation.reprise, serving(operation, options), notAllowed)
}

/** A request with another method is none for the operation. */
function notAllowed(): Response {
  return new Response(null, { status: 405 })
}
