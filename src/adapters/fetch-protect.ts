/**
 * Protects handlers that are given a `Request` and answer with a `Response`.
 *
 * @module
 */

import type { CapturedResponse } from '../core/response.ts'
import type { Exchange } from './exchange.ts'
import { captureResponse, markResponse, responseParts } from './fetch-capture.ts'
import { fetchExchange } from './fetch-exchange.ts'
import type { Guard } from './protect.ts'
import { giveRun, markProtected } from './run-of.ts'
import type { EarlyMarks, HttpRun } from './watched-handler.ts'

/** What the adapter gives of its framework. */
export interface FetchParts<Req, Tx> {
  readonly guard: Guard<Req, Tx>
  /** What the functions of the route's options are given. */
  readonly subject: Req
  readonly request: Request
  readonly exchange: Exchange
  /** Whether the handler may be called again with a copy of the request. */
  readonly isRepeatable?: boolean
  /** Has the handler answer; without a run the request is not protected. */
  readonly handle: (request: Request, handling: FetchRun<Tx> | undefined) => Promise<Response>
}

/** The run of a handler, and the headers of an answer that somebody else gives meanwhile. */
export interface FetchRun<Tx> {
  readonly run: HttpRun<Tx>
  readonly marks: EarlyMarks
}

/** The handler's own response, marked; or another answer to send in its place. */
export type FetchResult =
  | { readonly kind: 'handled'; readonly response: Response }
  | { readonly kind: 'answered'; readonly answer: CapturedResponse }

/** Takes a request through the protocol. What the handler throws is thrown. */
export async function protectFetch<Req, Tx>(parts: FetchParts<Req, Tx>): Promise<FetchResult> {
  const { guard, subject, exchange, handle } = parts
  let { request } = parts
  let held: Response | undefined
  let release = () => {}
  const execute = async (run: HttpRun<Tx>, marks: EarlyMarks): Promise<CapturedResponse> => {
    const current = request
    // Copied while its body is still there: after a lost transaction the handler reads it again.
    if (parts.isRepeatable === true) request = current.clone()
    discard(held)
    release = holdSignal(current)
    held = await handle(current, { run, marks })
    return captureResponse(held, guard.captureOptions)
  }

  try {
    const result = await guard.protect(subject, exchange, execute)
    if (result.kind === 'answered') {
      discard(held)
      return { kind: 'answered', answer: result.response }
    }
    const response = held ?? (await handle(request, undefined))
    return { kind: 'handled', response: markResponse(response, result.marks) }
  } finally {
    release()
  }
}

/** A handler of this family, and how it is protected. */
export interface FetchHandling<Req extends Request, Rest extends readonly unknown[], Tx> {
  readonly guard: Guard<Req, Tx>
  readonly handler: (request: Req, ...rest: Rest) => Response | Promise<Response>
  /** Whether the handler takes any `Request`, so that it can be given a copy. */
  readonly isRepeatable: boolean
}

/** The handler, protected. */
export function protectHandler<Req extends Request, Rest extends readonly unknown[], Tx>({
  guard,
  handler,
  isRepeatable,
}: FetchHandling<Req, Rest, Tx>): (request: Req, ...rest: Rest) => Promise<Response> {
  return async function idempotency(request, ...rest) {
    const exchange = fetchExchange(request)
    if (!guard.takes(exchange)) return handler(request, ...rest)
    markProtected(request)
    const protecting = protectFetch({
      guard,
      subject: request,
      request,
      isRepeatable,
      exchange,
      handle: async (current, handling) => {
        if (handling !== undefined) giveRun(current, handling.run)
        // It is the very request, or a copy for a handler that takes any.
        return handler(current as Req, ...rest)
      },
    })
    outliveClient(rest.find(isPlatformContext), protecting)
    const result = await protecting
    if (result.kind === 'handled') return result.response
    const { body, init } = responseParts(result.answer)
    return new Response(body, init)
  }
}

/** What a platform such as Cloudflare's hands to handlers besides the request. */
interface PlatformContext {
  /** Has the platform keep the request going until `work` settles. */
  waitUntil(work: Promise<unknown>): void
}

function isPlatformContext(value: unknown): value is PlatformContext {
  return (
    typeof value === 'object' &&
    value !== null &&
    'waitUntil' in value &&
    typeof value.waitUntil === 'function'
  )
}

/** Has the work go on when the client goes away: such a platform would end it there, half done. */
export function outliveClient(context: unknown, work: Promise<unknown>): void {
  if (isPlatformContext(context)) context.waitUntil(work.catch(() => undefined))
}

/**
 * Keeps from the handler, until its answer is stored, that the client has gone away: it passes the
 * request's signal on to other calls, and those must not be cancelled half way.
 */
function holdSignal(request: Request): () => void {
  const own = Object.getOwnPropertyDescriptor(request, 'signal')
  let release = () => {
    Reflect.deleteProperty(request, 'signal')
    // That of a protection around this one.
    if (own !== undefined) Object.defineProperty(request, 'signal', own)
  }
  // Made only for those who ask, because few do and it takes its time.
  const get = () => {
    release()
    const { signal } = request
    const held = new AbortController()
    Object.defineProperty(request, 'signal', { value: held.signal, configurable: true })
    release = () => {
      const abort = () => held.abort(signal.reason)
      if (signal.aborted) abort()
      else signal.addEventListener('abort', abort, { once: true })
    }
    return held.signal
  }
  Object.defineProperty(request, 'signal', { get, configurable: true })
  return () => release()
}

/** Lets go of a response that is not sent, and of what feeds it. */
function discard(response: Response | undefined): void {
  response?.body?.cancel().catch(() => undefined)
}
