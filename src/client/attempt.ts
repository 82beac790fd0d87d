/**
 * One attempt: a request, and its whole answer.
 *
 * @module
 */

import type { Context } from './context.ts'
import { timeoutError } from './errors.ts'
import type { Life } from './life.ts'
import { fetchFollowing } from './redirects.ts'
import type { Outgoing } from './request.ts'
import { isUnsent } from './unsent.ts'

/** The whole answer, with its body as text where that helps to understand it; or that there is none. */
export type Attempt =
  | { readonly response: Response; readonly text: string }
  | { readonly error: unknown; readonly isTimeout: boolean; readonly isUnsent: boolean }

/** Sends once. Never throws: an attempt without an answer is an outcome. */
export async function attempt(
  request: Outgoing,
  headers: Headers,
  { life, ...context }: Context & { life: Life },
): Promise<Attempt> {
  let hops = 0
  const send: typeof fetch = (input, init) => {
    hops++
    return context.fetch(input, init)
  }
  try {
    const outcome = await life.during(async (control) => {
      const { url, method, options, extra } = request
      const { signal } = control
      // Not as bytes: Node 20 and 22 detach those with the first sending, and a redirect sends them again.
      const body = request.body && new Blob([request.body])
      const init = { ...options, ...extra, method, headers, body, signal }
      const response = await fetchFollowing(url, init, { ...context, fetch: send })
      const { headers: given, type } = response
      const isEvents = given.get('Content-Type')?.startsWith('text/event-stream')
      // Streams of events, and answers that the browser does not let us read, stay as they are.
      if (!isEvents && !type.startsWith('opaque')) return whole(response)
      life.handOver(control)
      return { response, text: '' }
    }, context.attemptTimeoutMs)
    if (outcome !== undefined) return outcome
    return { error: timeoutError(), isTimeout: true, isUnsent: false }
  } catch (error) {
    // Before a redirect that leads nowhere, the request had come to the server that sent it there.
    return { error, isTimeout: false, isUnsent: hops <= 1 && isUnsent(error) }
  }
}

/**
 * The answer with its body in memory: a connection that breaks in the middle of it is a failed
 * attempt, and not a surprise for whoever reads the body.
 */
async function whole(response: Response): Promise<Attempt> {
  const { status, statusText, headers, url, redirected, type } = response
  const bytes = await response.arrayBuffer()
  // Some statuses may not even have an empty body.
  const copy = new Response(bytes.byteLength ? bytes : null, { status, statusText, headers })
  Object.defineProperties(copy, {
    url: { value: url },
    redirected: { value: redirected },
    type: { value: type },
  })
  // Only conflicts are told apart by what they say.
  const text = status === 409 ? new TextDecoder().decode(bytes) : ''
  return { response: copy, text }
}
