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
  /** The field lines of a header as they were sent, where the platform has kept them. */
  readonly sentLines?: (name: string) => readonly string[]
  /** The body, where somebody has read it before and kept it. */
  readonly open?: OpenBody
}

/** What `Headers` puts between the lines of a header. */
const JOINT = ', '

/** The exchange of a `Request`. */
export function fetchExchange(request: Request, options: FetchExchangeOptions = {}): Exchange {
  const { pathname, search } = new URL(request.url)
  const { route = null, ip = null, open = () => copyOfBody(request) } = options
  const sent = (name: string) => options.sentLines?.(name) ?? []
  return {
    method: request.method,
    path: pathname,
    route,
    query: search.slice(1),
    ip,
    lines(name) {
      const value = request.headers.get(name)
      if (value === null) return []
      if (!value.includes(JOINT)) return [value]
      const lines = sent(name)
      // A middleware may have changed the header; then nobody knows of which lines it is.
      return lines.join(JOINT) === value ? lines : [value]
    },
    isJoined(name) {
      const value = request.headers.get(name)
      return value?.includes(JOINT) === true && sent(name).join(JOINT) !== value
    },
    line: (name) => request.headers.get(name),
    digest: (type, bodyOptions) => digestOf(open, type, bodyOptions),
    body: async (bodyOptions) => ({
      text: await textOf(open, bodyOptions),
      contentType: request.headers.get('content-type'),
    }),
  }
}
