/**
 * A Node request in words that every framework shares.
 *
 * @module
 */

import type { Exchange } from './exchange.ts'
import { NodeBody, type ParsedBody, type ParsedRequest } from './node-body.ts'

/** What the framework knows better than the request itself. */
export interface NodeExchangeOptions {
  /** The URL as the client sent it; routers cut it. */
  readonly url?: string
  readonly route?: string | null
  readonly ip?: string | null
  /** Where the body parser left its result, if not on the request itself. */
  readonly parsed?: ParsedBody
}

/** The exchange of a Node request. */
export function nodeExchange(request: ParsedRequest, options: NodeExchangeOptions = {}): Exchange {
  const url = options.url ?? request.url ?? '/'
  const at = url.indexOf('?')
  const body = new NodeBody(request, options.parsed ?? request)
  return {
    method: request.method ?? 'GET',
    path: at < 0 ? url : url.slice(0, at),
    route: options.route ?? null,
    query: at < 0 ? '' : url.slice(at + 1),
    ip: options.ip ?? request.socket?.remoteAddress ?? null,
    lines: (name) => rawLines(request.rawHeaders, name),
    digest: (contentType, bodyOptions) => body.digest(contentType, bodyOptions),
    body: (bodyOptions) => body.read(bodyOptions),
  }
}

/** Node joins repeated lines; only the raw list tells two keys from one with a comma in it. */
function rawLines(rawHeaders: readonly string[], name: string): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const raw = rawHeaders[at]
    // Most differ in length, which costs less to compare.
    if (raw?.length === name.length && raw.toLowerCase() === name) {
      lines.push(rawHeaders[at + 1] ?? '')
    }
  }
  return lines
}
