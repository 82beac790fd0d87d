/**
 * Answers: what every one of them carries, JSON that keeps large numbers, and refusals in words.
 *
 * @module
 */

import { isRepriseError } from '../core/errors.ts'

/** Nothing from elsewhere, nothing inline, in no frame. */
const POLICY: string = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...["connect-src 'self'", "font-src 'self'", "base-uri 'none'", "form-action 'self'"],
  "frame-ancestors 'none'",
].join('; ')

const COMMON: Readonly<Record<string, string>> = {
  'Content-Security-Policy': POLICY,
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
}

/** The headers of an answer that is kept by nobody. */
export function headers(type: string, more: Readonly<Record<string, string>> = {}): HeadersInit {
  return { ...COMMON, 'Cache-Control': 'no-store', 'Content-Type': type, ...more }
}

/** The headers of an answer that has a type, and may have a stricter policy, of its own. */
export function guarded(own: Readonly<Record<string, string>>): HeadersInit {
  return { ...COMMON, 'Cache-Control': 'no-store', ...own }
}

/** An answer in JSON. */
export function json(value: unknown, status = 200): Response {
  return new Response(exactJson(value), { status, headers: headers('application/json') })
}

/** What went wrong, for the page and for whoever reads it. */
export interface Refusal {
  readonly status: number
  readonly code: string
  readonly message: string
  /** When to ask again, in milliseconds. */
  readonly retryAfterMs?: number
}

/** Thrown by whoever answers; becomes a {@link Refusal}. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly refusal: Refusal

  constructor(status: number, code: string, message: string) {
    super(message)
    this.refusal = { status, code, message }
  }
}

/** A refusal in JSON. */
export function refuse({ status, code, message, retryAfterMs }: Refusal): Response {
  const response = json({ error: { code, message, retryAfterMs } }, status)
  if (retryAfterMs !== undefined) {
    response.headers.set('Retry-After', String(Math.ceil(retryAfterMs / 1000)))
  }
  return response
}

/** How long a page waits before it asks a store again that did not answer, in milliseconds. */
const STORE_RETRY_MS = 5000
/** PostgreSQL: cancelled by the statement timeout; and what drivers say of it. */
const TIMEOUTS = /57014|timeout|timed out/i

/** What became of a failure: refusals pass, all else is the store's. Secrets in URLs are masked. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof Refused) return error.refusal
  const message = maskUrls(causeOf(error))
  if (isRepriseError(error) && error.status === 400) {
    return { status: 400, code: 'invalid', message: `${maskUrls(error.detail ?? message)}.` }
  }
  // The store answered; what it keeps of this one request is damaged, or its key is missing.
  if (isRepriseError(error) && error.code === 'reprise-seal-broken') {
    return { status: 409, code: 'unreadable', message: maskUrls(error.message) }
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (TIMEOUTS.test(`${code} ${message}`)) {
    return { status: 504, code: 'timed_out', message: `The store took too long: ${message}` }
  }
  return {
    ...{ status: 503, code: 'store_unavailable', retryAfterMs: STORE_RETRY_MS },
    message: `The store did not answer: ${message}`,
  }
}

/** The deepest cause: what the driver itself says. Several addresses that fail make one error. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof AggregateError) return error.errors.map(causeOf).join('; ')
  const text = error.message || ('code' in error ? String(error.code) : error.name)
  return error.cause === undefined ? text : `${text} (${causeOf(error.cause)})`
}

/** Takes user and password out of URLs. */
function maskUrls(text: string): string {
  return text.replace(/\/\/[^\s/@]+@/g, '//***@')
}

/**
 * JSON in which a bigint, and `{ $number: digits }`, is a number with all its digits, and bytes are hex
 * with their count.
 */
export function exactJson(value: unknown, indent?: number): string {
  const digits: string[] = []
  // Nobody else's text begins like this: it is escaped where it occurs.
  const text = JSON.stringify(
    value,
    (_, one: unknown) => {
      const number = numberIn(one)
      if (number !== undefined) return `\u0000${digits.push(number) - 1}`
      if (one instanceof Uint8Array) {
        return { hex: Buffer.from(one).toString('hex'), bytes: one.byteLength }
      }
      return typeof one === 'string' && one.startsWith('\u0000') ? ` ${one}` : one
    },
    indent,
  )
  if (digits.length === 0) return text
  // Neither the name of a member nor what follows a quote within a text: those are somebody's words.
  return text.replace(
    /(?<!\\)"\\u0000(\d+)"(?!:)/g,
    (_, index: string) => digits[Number(index)] ?? '0',
  )
}

/** The digits of a number that a double would not hold. */
function numberIn(value: unknown): string | undefined {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null || !('$number' in value)) return undefined
  const text = String(value.$number)
  const isAlone = Object.keys(value).length === 1
  return isAlone && /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text) ? text : undefined
}
