/**
 * Redirects of requests with a key.
 *
 * A redirect with 307 or 308 has the whole request sent again, with its key, its headers and its body, to
 * an address that nobody asked for. So this module follows redirects itself wherever the platform shows
 * them, and sends a key to another host only where it was told to. Browsers do not show redirects; there
 * the browser follows, and the other host has to allow the header by CORS.
 *
 * @module
 */

import type { Context } from './context.ts'

/** As many as `fetch` follows. */
const HOPS_MAX = 20

/** Statuses by which a request is sent elsewhere. */
const REDIRECTS = [301, 302, 303, 307, 308]

/** Headers that say something about a body. */
const OF_BODIES = ['Content-Type', 'Content-Length', 'Content-Encoding', 'Content-Language']

/** Headers that `fetch` takes to no other origin. */
const OF_ORIGINS = ['Authorization', 'Proxy-Authorization', 'Cookie']

/** What is sent to each address in turn. */
interface Hop {
  readonly url: URL
  readonly method: string
  readonly headers: Headers
  readonly body: BodyInit | null
}

/** What is sent first, and what `fetch` is told besides. */
export interface Sent extends RequestInit {
  readonly method: string
  readonly headers: Headers
  readonly body: BodyInit | null
}

/** Sends a request with a key, and follows where it is sent. */
export async function fetchFollowing(
  address: string,
  { method, headers, body, ...init }: Sent,
  { fetch, dialect, redirects }: Pick<Context, 'fetch' | 'dialect' | 'redirects'>,
): Promise<Response> {
  if ((init.redirect ?? 'follow') !== 'follow' || !platformShowsRedirects()) {
    return fetch(address, { ...init, method, headers, body })
  }
  let hop: Hop = { url: new URL(address), method, headers, body }
  for (let hops = 0; ; hops++) {
    const { url, ...sent } = hop
    const response = await fetch(url.href, { ...init, ...sent, redirect: 'manual' })
    const next = nextHop(hop, response, dialect.header)
    const mayGo =
      redirects === 'any' ||
      next?.headers.has(dialect.header) === false ||
      isSameHost(hop.url, next?.url)
    if (next === undefined || !mayGo) {
      // As if `fetch` had followed.
      if (hops > 0) Object.defineProperty(response, 'redirected', { value: true })
      return response
    }
    if (hops === HOPS_MAX) throw new TypeError(`${address} redirects more than ${HOPS_MAX} times.`)
    // Its connection is free for others once nobody waits for the body.
    await response.body?.cancel()
    hop = next
  }
}

/** The request that a redirect asks for; `undefined` where the answer is none. */
function nextHop(hop: Hop, response: Response, keyHeader: string): Hop | undefined {
  const location = response.headers.get('Location')
  if (!REDIRECTS.includes(response.status) || location === null) return undefined
  const url = new URL(location, hop.url)
  if (!/^https?:$/.test(url.protocol)) return undefined
  if (!url.hash) url.hash = hop.url.hash
  const headers = new Headers(hop.headers)
  if (url.origin !== hop.url.origin) for (const name of OF_ORIGINS) headers.delete(name)
  const { status } = response
  const isRead = status === 303 || ((status === 301 || status === 302) && hop.method === 'POST')
  if (!isRead) return { ...hop, url, headers }
  // What is read then is a page about the operation, and no repetition of it.
  for (const name of [...OF_BODIES, keyHeader]) headers.delete(name)
  return { url, method: hop.method === 'HEAD' ? 'HEAD' : 'GET', headers, body: null }
}

/** Whether both are on one host and port; one that goes on to https counts as the same. */
function isSameHost(from: URL, to: URL | undefined): boolean {
  if (to === undefined) return false
  if (from.origin === to.origin) return true
  const isUpgraded = from.protocol === 'http:' && to.protocol === 'https:'
  return isUpgraded && from.hostname === to.hostname && to.port === ''
}

/** Browsers, and their workers, give an answer without status and address in the place of a redirect. */
function platformShowsRedirects(): boolean {
  return !('window' in globalThis) && !('WorkerGlobalScope' in globalThis)
}
