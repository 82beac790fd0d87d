/**
 * Hono 3 and 4.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import type { Context, MiddlewareHandler } from 'hono'
import type { StatusCode } from 'hono/utils/http-status'
import { invalid } from '../core/options.ts'
import type { CapturedResponse } from '../core/response.ts'
import { HONO, unsupported } from '../core/versions.ts'
import type { Reprise } from '../engine/reprise.ts'
import type { Servable } from '../engine/servable.ts'
import { copyOfBody, hiddenIn, type OpenBody } from './fetch-body.ts'
import { markResponse, responseParts } from './fetch-capture.ts'
import { fetchExchange } from './fetch-exchange.ts'
import { outliveClient, protectFetch } from './fetch-protect.ts'
import { HandlerContext } from './handler-context.ts'
import { HonoSides } from './hono-sides.ts'
import { type HttpOptions, type ServeOptions, serving } from './options.ts'
import { Guard } from './protect.ts'
import { giveRun, markProtected } from './run-of.ts'

export { runOf, txOf } from './run-of.ts'

/**
 * Makes the routes behind it safe to be asked again. Put it after authentication; the body may have
 * been read before by `c.req`. The handler finds its run with `runOf(c)`.
 *
 * @example
 * ```ts
 * app.post('/charges', idempotent(reprise, { caller: (c) => c.get('account') }), createCharge)
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function idempotent<C extends Context = Context, Tx = never>(
  reprise: Reprise<Tx>,
  options: HttpOptions<C, Tx>,
): MiddlewareHandler {
  const guard = new Guard<C, Tx>(reprise, options)
  return async function idempotency(c: Context, next) {
    const request = rawOf(c)
    const sentLines = (name: string) => sentLinesOf(request, incomingOf(c), name)
    const known = { route: routeOf(c), ip: ipOf(c), sentLines, open: bodyOf(c) }
    const exchange = fetchExchange(request, known)
    if (!guard.takes(exchange)) return next()
    markProtected(c)
    let sides: HonoSides | undefined
    const wasFinalized = c.finalized
    const protecting = protectFetch({
      guard,
      // The app that the middleware is mounted in decides which variables there are.
      subject: c as C,
      request,
      exchange,
      handle: async (_, handling) => {
        if (handling === undefined) return answerOf(c, next)
        giveRun(c, handling.run)
        const handler = new HandlerContext()
        // Of the run before, where a transaction is run again.
        sides?.join()
        sides = new HonoSides(c, handler, (response) =>
          markResponse(response, handling.marks(response.status)),
        )
        // A middleware in front has answered before the claim was decided.
        if (c.finalized && !wasFinalized) sides.startLate()
        return handler.run(() => answerOf(c, next))
      },
    })
    outliveClient(platformContextOf(c), protecting)
    // The handler's response is kept from the middleware in front until it is stored: Hono would send it.
    const result = await protecting.finally(() => sides?.join())
    // The client has the answer from in front.
    if (sides?.isAnswered === true) return
    if (result.kind === 'answered') return answer(c, result.answer)
    if (result.response !== c.res) replace(c, result.response)
  }
}

/**
 * Has an operation in phases answer requests: its input is what the body says.
 *
 * @example
 * ```ts
 * app.post('/rides', serve(createRide, { caller: (c) => c.get('account') }))
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function serve<C extends Context = Context>(
  operation: Servable,
  options: ServeOptions<C>,
): MiddlewareHandler {
  return idempotent<C, unknown>(operation.reprise, serving(operation, options))
}

/**
 * What the handler answers. Hono makes a response of what is thrown behind this, by `onError`.
 *
 * @throws Error when the handler has answered nothing; Hono itself says so only when all is done
 */
async function answerOf(c: Context, next: () => Promise<void>): Promise<Response> {
  await next()
  if (c.finalized) return c.res
  throw new Error('The handler answered nothing: return a Response, or call and await next().')
}

/**
 * The request as the platform gave it. No app is at hand before the first one comes, so it is here that
 * an old version shows.
 *
 * @throws RepriseError `reprise-version-unsupported`
 */
function rawOf({ req }: Context): Request {
  // Whatever the types say: a request of version 2 has none.
  const { raw } = req as { readonly raw?: Request }
  if (raw === undefined) throw unsupported(HONO, 'of version 2 or older')
  return raw
}

/** Answers in place of the handler, with the headers that outer middleware has set before. */
function answer(c: Context, captured: CapturedResponse): Response {
  const { body, init } = responseParts(captured)
  if (c.finalized) return replace(c, new Response(body, init))
  // Hono lists the statuses it knows; an answer may well have another.
  const made = c.newResponse(body, { ...init, status: init.status as StatusCode })
  // Hono has no reason phrases.
  return init.statusText === '' ? made : new Response(made.body, { ...init, headers: made.headers })
}

/** Hono would lay the headers of the old response over those of the new one. */
function replace(c: Context, response: Response): Response {
  c.res = undefined
  c.res = response
  return response
}

/**
 * The template of the route that answers: the first, from the place of the middleware on, that has
 * no wildcard at its end. A pattern such as `/api/*` names no route.
 */
function routeOf({ req }: Context): string | null {
  // Hono would rather have a function of its own called, which would have to be imported.
  const { matchedRoutes } = req as { readonly matchedRoutes?: readonly { path: string }[] }
  const routes = matchedRoutes?.slice(req.routeIndex)
  return routes?.find(({ path }) => !path.endsWith('*'))?.path ?? null
}

/** The client's address, where Hono runs on Node. */
function ipOf(c: Context): string | null {
  return incomingOf(c)?.socket?.remoteAddress ?? null
}

/** What the platform hands over besides the request, where Hono runs on one that does. */
function platformContextOf(c: Context): unknown {
  if (incomingOf(c) !== undefined) return undefined
  try {
    return c.executionCtx
  } catch {
    // Hono throws where the platform has none.
    return undefined
  }
}

/** The request that Node's server was given. */
function incomingOf({ env }: Context): IncomingMessage | undefined {
  // Whatever the platform gives: another may have something else by this name.
  return (env as { incoming?: IncomingMessage } | undefined)?.incoming
}

/** The field lines of a header as Node's server has them; `Headers` has them joined. */
function sentLinesOf(
  raw: Request,
  incoming: IncomingMessage | undefined,
  name: string,
): readonly string[] {
  // A request that somebody else has made has headers of its own.
  if (incoming === undefined || !hiddenIn(raw).includes(incoming)) return []
  const { rawHeaders } = incoming
  // Names and values take turns.
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name,
  )
}

/** What `c.req` keeps of a body, by how it was read; older versions keep `json` as well. */
interface Kept {
  readonly arrayBuffer?: Promise<ArrayBuffer>
  readonly text?: Promise<string>
  readonly blob?: Promise<Blob>
  readonly json?: Promise<unknown>
  readonly formData?: Promise<FormData>
}

/** The body, also after `c.req` has read it: it keeps what it has read, as the handler will see it. */
function bodyOf(c: Context): OpenBody {
  const { req } = c
  let whole: Uint8Array | undefined
  return async () => {
    // What is kept are promises, whatever the types say.
    const { arrayBuffer, text, blob, json, formData } = req.bodyCache as unknown as Kept
    const kept = await (arrayBuffer ?? text ?? blob)
    if (kept !== undefined) return new Response(kept).body
    if (json !== undefined) return new Response(JSON.stringify(await json)).body
    if (formData === undefined) {
      whole ??= arrivedBody(req.raw, incomingOf(c))
      return whole ?? copyOfBody(req.raw)
    }
    throw invalid(
      'c.req.formData() was read before the route is protected: protect it first, or use c.req.parseBody()',
    )
  }
}

/**
 * The body of a request of Node's server that came along with its head, read without a stream. From
 * then on the server takes `rawBody` for it; one of an older version finds it put back.
 */
function arrivedBody(raw: Request, incoming: IncomingMessage | undefined): Uint8Array | undefined {
  // A request that somebody else has made has a body of its own.
  if (incoming === undefined || !hiddenIn(raw).includes(incoming) || !isWhole(incoming)) return
  const bytes: Uint8Array = incoming.read() ?? Buffer.alloc(0)
  incoming.unshift(bytes)
  Object.assign(incoming, { rawBody: bytes })
  return bytes
}

/** Whether all of the body is there and in nobody's hands, and is not in the way of the next request. */
function isWhole(incoming: IncomingMessage): boolean {
  const { readableLength, readableFlowing, readableEncoding } = incoming
  return (
    incoming.headers['content-length'] === `${readableLength}` &&
    readableLength < incoming.readableHighWaterMark &&
    (readableFlowing ?? readableEncoding) === null &&
    !incoming.destroyed
  )
}
