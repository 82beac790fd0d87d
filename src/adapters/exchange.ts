/**
 * What an adapter says about a request, in words that no framework has to itself.
 *
 * @module
 */

import type { ReadBody } from '../core/body-value.ts'
import type { BodyDigest, BodyOptions } from '../core/fingerprint.ts'

/** One request, as the adapter sees it. */
export interface Exchange {
  readonly method: string
  /** Path as requested, without the query. */
  readonly path: string
  /** Template of the route, such as `/orders/:id`; `null` where the framework does not tell. */
  readonly route: string | null
  /** Raw query string, without the question mark. */
  readonly query: string
  /** Network address of the client. */
  readonly ip: string | null
  /** The field lines of a header, one entry per line as received; the name in lower case. */
  lines(name: string): readonly string[]
  /**
   * Whether the one line that `lines` gives may be several, which the platform has joined. Absent where
   * the platform keeps lines apart.
   */
  isJoined?(name: string): boolean
  /** The first of them. */
  line(name: string): string | null
  /** Digest of the body; must leave the body to whoever reads it next. */
  digest(contentType: string | null, options: BodyOptions): BodyDigest | Promise<BodyDigest>
  /**
   * The body, for those who look into it; must leave the body to whoever reads it next.
   *
   * @param options - how much of a body is read at most
   */
  body(options: BodyOptions): Promise<ReadBody>
}

/** What a request asks for. */
export type Asked = Pick<Exchange, 'method' | 'route' | 'path'>

/** Whether the request may have been sent again by somebody else (RFC 8470). */
export function isEarly(exchange: Exchange): boolean {
  return exchange.line('early-data') === '1'
}

/** How long the client asks to wait (`Prefer: wait=n`), within the bound, in milliseconds. */
export function waitOf(exchange: Exchange, waitMsMax: number): number | undefined {
  if (exchange.line('prefer') === null) return undefined
  const prefer = exchange.lines('prefer').join(',')
  const seconds = /(?:^|[,;])\s*wait\s*=\s*"?(\d{1,9})"?\s*(?:$|[,;])/i.exec(prefer)?.[1]
  return seconds === undefined ? undefined : Math.min(Number(seconds) * 1000, waitMsMax)
}
