/**
 * Route handlers of Next.js (App Router).
 *
 * @module
 */

import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import { protectHandler } from './fetch-protect.ts'
import { type HttpOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'

export { runOf, txOf } from './run-of.ts'

/** A route handler; the context, with the promise of the route's parameters, is passed through. */
export type RouteHandler<Req extends Request, Context extends readonly unknown[]> = (
  request: Req,
  ...context: Context
) => Response | Promise<Response>

/**
 * Makes a route handler safe to be asked again. Next does not tell the template of the route: the
 * path itself is part of the operation, unless `operation` names it.
 *
 * @example
 * ```ts
 * export const POST = idempotent(reprise, { caller: accountOf }, async (request) => {
 *   return Response.json(await createCharge(await request.json()), { status: 201 })
 * })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function idempotent<Req extends Request, Context extends readonly unknown[], Tx = never>(
  reprise: Reprise<Tx>,
  options: HttpOptions<Req, Tx>,
  handler: RouteHandler<Req, Context>,
): (request: Req, ...context: Context) => Promise<Response> {
  return protectHandler<Req, Context, Tx>({
    guard: new Guard<Req, Tx>(reprise, options),
    handler: async (request, ...context) => {
      try {
        return await handler(request, ...context)
      } catch (error) {
        const response = interruptOf(error)
        if (response === undefined) throw error
        return response
      }
    },
    // A copy would lack what Next adds to its requests.
    isRepeatable: false,
  })
}

/**
 * Has an operation in phases answer requests: its input is what the body says.
 *
 * @example
 * ```ts
 * export const POST = serve(createRide, { caller: accountOf })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function serve<Req extends Request>(
  operation: Servable,
  options: ServeOptions<Req>,
): (request: Req) => Promise<Response> {
  // Next calls the function of another method.
  const notAllowed = () => new Response(null, { status: 405 })
  return idempotent<Req, [], unknown>(operation.reprise, serving(operation, options), notAllowed)
}

/**
 * `redirect()`, `notFound()` and their like answer by throwing. To let them pass as failures would
 * undo or suspend work that is done; this is the response that Next makes of them.
 */
function interruptOf(error: unknown): Response | undefined {
  if (typeof error !== 'object' || error === null || !('digest' in error)) return undefined
  const parts = String(error.digest).split(';')
  switch (parts[0]) {
    case 'NEXT_REDIRECT': {
      // The location stands between type and status, and may contain the separator.
      const location = parts.slice(2, -2).join(';')
      return new Response(null, { status: Number(parts.at(-2)), headers: { location } })
    }
    case 'NEXT_HTTP_ERROR_FALLBACK':
      return new Response(null, { status: Number(parts[1]) })
    case 'NEXT_NOT_FOUND':
      return new Response(null, { status: 404 })
    default:
      return undefined
  }
}
