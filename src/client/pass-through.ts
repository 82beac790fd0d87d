/**
 * Requests without a key: sent once, and answered with the very answer of `fetch`.
 *
 * @module
 */

import type { Context, Result } from './context.ts'
import { teller } from './events.ts'
import { addressOf, type ClientInit, requestIn } from './request.ts'
import { isReplayed } from './rules.ts'

/**
 * Sends a request as it is: no copy of the answer, no time limit, no second attempt. Only what the
 * client was told to add is added: its base address and its headers.
 */
export async function passThrough(
  input: RequestInfo | URL,
  init: ClientInit,
  context: Context,
): Promise<Result> {
  const { fetch, clock, dialect, headers: more } = context
  const tell = teller(context)
  const startedAt = clock.now()
  const request = requestIn(input)
  const url = addressOf(input, context)
  const method = (init.method ?? request?.method ?? 'GET').toUpperCase()
  const event = { key: null, method, url, attempts: 1 }
  const given = typeof more === 'function' ? await headersOf(more, context) : more
  tell({ ...event, type: 'attempt', elapsedMs: clock.now() - startedAt })
  const response = await fetch(request ?? url, { ...init, ...added(init, request, given) })
  const replayed = isReplayed(response, dialect)
  const { status } = response
  const elapsedMs = clock.now() - startedAt
  tell({ ...event, type: 'answered', elapsedMs, status, response, replayed })
  const json = () => response.json()
  return { key: null, attempts: 1, replayed, protected: false, response, json }
}

/** What the function of the app gives, unless somebody else logs in meanwhile: then it is theirs. */
async function headersOf(
  more: (attempt: number) => HeadersInit | Promise<HeadersInit>,
  { caller }: Context,
): Promise<HeadersInit> {
  const present = caller()
  const given = await more(1)
  if (caller() === present) return given
  throw new DOMException('Somebody else has logged in.', 'AbortError')
}

/** What the client adds: its headers, below those of the request, and a value that is sent as JSON. */
function added(
  { json, headers }: ClientInit,
  request: Request | undefined,
  given: HeadersInit,
): RequestInit {
  const all = new Headers(given)
  if ([...all].length === 0 && json === undefined) return {}
  for (const [name, value] of new Headers(headers ?? request?.headers)) all.set(name, value)
  if (json === undefined) return { headers: all }
  if (!all.has('Content-Type')) all.set('Content-Type', 'application/json')
  return { headers: all, body: JSON.stringify(json) }
}
