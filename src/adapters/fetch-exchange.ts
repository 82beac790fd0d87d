/**
 * A `Request` in words that every framework shares.
 *
 * @module
 */

import type { Exchange } from './exchange.ts'
import { copyOfBody, digestOf, type OpenBody, textOf } from './fetch-body.ts'

/** What the framework knows better than the request itself. */
export interface FetchExchangeOptions {
  readonly route?: string | null
  readonly ip?: string | null
  /** The body, where somebody has read it before and kept it. */
  readonly open?: OpenBody
}

/** The exchange of a `Request`. */
export function fetchExchange(request: Request, options: FetchExchangeOptions = {}): Exchange {
  const { pathname, search } = new URL(request.url)
  const { route = null, ip = null, open = () => copyOfBody(request) } = options
  return {
    method: request.method,
    path: pathname,
    route,
    query: search.slice(1),
    ip,
    lines(name) {
      // Repeated lines come joined by commas, which no key may contain unquoted.
      const value = request.headers.get(name)
      return value === null ? [] : [value]
    },
    line: (name) => request.headers.get(name),
    digest: (type, bodyOptions) => digestOf(open, type, bodyOptions),
    body: async (bodyOptions) => ({
      text: await textOf(open, bodyOptions),
      contentType: request.headers.get('content-type'),
    }),
  }
}
