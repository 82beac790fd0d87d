/**
 * What a phase answers: go on to a recovery point, respond for good, or try again later. Exactly one
 * of these, as a value; what it means for the record is decided in one place, `drive.ts`.
 *
 * @module
 */

import { checkResource } from '../core/kept-text.ts'
import type { Resource } from '../core/record.ts'
import type { CapturedResponse, Header } from '../core/response.ts'

/** The phase is done; the next one starts from this point with this state. */
export interface Advanced<Point extends string, State> {
  readonly kind: 'advance'
  readonly point: Point
  readonly state: State
}

/** The operation is done; this is its answer, for good. */
export interface Responded {
  readonly kind: 'respond'
  readonly response: CapturedResponse
  readonly resource: Resource | null
}

/** Nothing of this phase is kept; it is tried again, by the client or by the completer. */
export interface RetryLater {
  readonly kind: 'retry_later'
  /** When it is worth trying again, in milliseconds; `null` for the operation's own pause. */
  readonly afterMs: number | null
  readonly reason: string | null
}

/** What a phase answers. */
export type Step = Advanced<string, unknown> | Responded | RetryLater

/** What comes with an answer besides status and body. */
export interface RespondOptions {
  /**
   * Headers of the answer; `Content-Type` is set by the kind of body unless it stands here.
   *
   * @default none
   */
  readonly headers?: Readonly<Record<string, string>>
  /**
   * What the operation made, for look-ups later.
   *
   * @default none
   */
  readonly resource?: Resource
}

/**
 * Goes on: the phase's rows, the new recovery point and `state` commit together.
 *
 * @param point - the name of a phase of the same operation
 * @param state - what that phase is given: a JSON value
 */
export function advance<const Point extends string>(point: Point): Advanced<Point, undefined>
export function advance<const Point extends string, State>(
  point: Point,
  state: State,
): Advanced<Point, State>
export function advance(point: string, state?: unknown): Advanced<string, unknown> {
  return { kind: 'advance', point, state }
}

/** Statuses whose answers have no body. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

/** What a header is called, and what it can carry (RFC 9110). */
const NAME = /^[!#$%&'*+.^_`|~\w-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/

/**
 * Answers: the phase's rows and the answer commit together, and every further request gets it.
 *
 * @param body - an object as JSON, a string as text, bytes as they are, or nothing
 */
export function respond(
  status: number,
  body?: unknown,
  { headers = {}, resource }: RespondOptions = {},
): Responded {
  if (!Number.isInteger(status) || status < 200 || status > 599) {
    throw new TypeError(`respond() takes a status from 200 to 599, not ${status}.`)
  }
  if (resource !== undefined) checkResource(resource)
  const { bytes, type } = encode(body)
  // What can not be sent must not be stored: every further request would fail with it.
  if (bytes.byteLength > 0 && WITHOUT_BODY.has(status)) {
    throw new TypeError(`respond() takes no body with ${status}.`)
  }
  const given = Object.entries(headers)
  const unsendable = given.find(([name, value]) => !NAME.test(name) || !VALUE.test(value))
  if (unsendable !== undefined) {
    throw new TypeError(`respond() was given a header that can not be sent: ${unsendable[0]}.`)
  }
  const isTyped = type === null || given.some(([name]) => name.toLowerCase() === 'content-type')
  const kept: Header[] = isTyped ? given : [['content-type', type], ...given]
  const response = { status, headers: kept, body: bytes }
  return { kind: 'respond', response, resource: resource ?? null }
}

/**
 * Gives up for now: everything on `tx` is rolled back, the client gets 503 with `Retry-After`, and the
 * work is taken up from the same recovery point.
 */
export function retryLater({
  afterMs,
  reason,
}: {
  /**
   * When the client is told to come back, in milliseconds. The completer keeps to its own pauses.
   *
   * @default the operation's `retryAfterMs`
   */
  readonly afterMs?: number
  /**
   * Why, for the history of the record.
   *
   * @default nothing is noted
   */
  readonly reason?: string
} = {}): RetryLater {
  if (afterMs !== undefined && !(Number.isFinite(afterMs) && afterMs >= 0)) {
    throw new TypeError(`retryLater() takes an afterMs of at least 0, not ${afterMs}.`)
  }
  return { kind: 'retry_later', afterMs: afterMs ?? null, reason: reason ?? null }
}

function encode(body: unknown): { bytes: Uint8Array; type: string | null } {
  const encoder = new TextEncoder()
  if (body === undefined) return { bytes: new Uint8Array(), type: null }
  if (body instanceof Uint8Array) {
    // A copy: the app may use its buffer again.
    return { bytes: Uint8Array.from(body), type: 'application/octet-stream' }
  }
  if (typeof body === 'string') {
    return { bytes: encoder.encode(body), type: 'text/plain; charset=utf-8' }
  }
  const text: string | undefined = JSON.stringify(body)
  if (text === undefined)
    throw new TypeError('respond() was given a body that JSON has no form of.')
  return { bytes: encoder.encode(text), type: 'application/json' }
}
