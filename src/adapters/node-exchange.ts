/**
 * A Node request in words that every framework shares.
 *
 * @module
 */

import type { ReadBody } from '../core/body-value.ts'
import type { BodyDigest, BodyOptions } from '../core/fingerprint.ts'
import type { Exchange } from './exchange.ts'
import { NodeBody, type ParsedBody, type ParsedRequest } from './node-body.ts'

/** What the framework knows better than the request itself. */
export interface NodeExchangeOptions {
  /** The URL as the client sent it; routers cut it. */
  readonly url?: string
  readonly route?: string | null
  readonly ip?: string | null | undefined
  /** Where the body parser left its result, if not on the request itself. */
  readonly parsed?: ParsedBody
}

/** The exchange of a Node request. */
export class NodeExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly route: string | null
  readonly query: string
  readonly ip: string | null
  readonly #request: ParsedRequest
  readonly #body: NodeBody

  constructor(request: ParsedRequest, options: NodeExchangeOptions = {}) {
    const url = options.url ?? request.url ?? '/'
    const at = url.indexOf('?')
    this.method = request.method ?? 'GET'
    this.path = at < 0 ? url : url.slice(0, at)
    this.route = options.route ?? null
    this.query = at < 0 ? '' : url.slice(at + 1)
    this.ip = options.ip ?? request.socket?.remoteAddress ?? null
    this.#request = request
    this.#body = new NodeBody(request, options.parsed ?? request)
  }

  lines(name: string): readonly string[] {
    return rawLines(this.#request.rawHeaders, name)
  }

  line(name: string): string | null {
    const { rawHeaders } = this.#request
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
      if (isNamed(rawHeaders[at], name)) return rawHeaders[at + 1] ?? ''
    }
    return null
  }

  digest(contentType: string | null, options: BodyOptions): BodyDigest | Promise<BodyDigest> {
    return this.#body.digest(contentType, options)
  }

  body(options: BodyOptions): Promise<ReadBody> {
    return this.#body.read(options)
  }
}

/** Node joins repeated lines; only the raw list tells two keys from one with a comma in it. */
function rawLines(rawHeaders: readonly string[], name: string): readonly string[] {
  const lines: string[] = []
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    if (isNamed(rawHeaders[at], name)) lines.push(rawHeaders[at + 1] ?? '')
  }
  return lines
}

function isNamed(raw: string | undefined, name: string): boolean {
  // Most differ in length, which costs less to compare.
  return raw?.length === name.length && (raw === name || raw.toLowerCase() === name)
}
