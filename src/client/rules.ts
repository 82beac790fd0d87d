/**
 * When to send a request again: the rules, without time, chance or network.
 *
 * @module
 */

import type { Dialect, Marks } from '../core/dialects/dialect.ts'

/** What the client has to know of a dialect; every dialect of `reprise/dialects` fits. */
export interface ClientDialect extends Pick<Dialect, 'header'> {
  readonly key?: Pick<Dialect['key'], 'mode'>
  readonly marks?: Partial<Pick<Marks, 'replayed' | 'retry'>>
}

/** What an answer means for the operation. */
export type Meaning =
  /** It is the answer. */
  | 'answer'
  /** Refused at the door: it says nothing about attempts before this one. */
  | 'refused'
  /** The server is at work on it. */
  | 'in-progress'
  /** Not taken on; later. */
  | 'later'
  /** A failure, under which it may have taken effect. */
  | 'failed'
  /** The server does not know, and asking again at once changes nothing. */
  | 'unknown'

const RETRIED = [408, 500, 502, 503, 504]
const LATER = [425, 429]
const AT_THE_DOOR = [401, 403, 407, 511]
/** Failures of the server that say for certain that nothing was done. */
const DEFINITE = [501, 505]

/** Headers by which servers advise for or against a repetition, whatever dialect was asked for. */
const ADVICE = ['Idempotent-Retry', 'Stripe-Should-Retry', 'X-Should-Retry', 'Transient-Error']

/** How those answers say it that do not say it in a header, or whose headers CORS hides. */
const IN_PROGRESS =
  /(idempotency|key)[-_]in[-_](progress|use|flight)|outstanding for this idem|is being processed/i
const SERVER_UNKNOWN = /outcome[-_]unknown/

/** Whether an answer is a repeated one. */
export function isReplayed({ headers }: Response, dialect: ClientDialect): boolean {
  const names = [dialect.marks?.replayed ?? 'Idempotent-Replayed', 'Idempotency-Replayed']
  return names.some((name) => headers.get(name) === 'true')
}

/** Whether an answer shows that the server honours keys: it echoes the key, or is a repetition. */
export function isHonoured(response: Response, dialect: ClientDialect): boolean {
  return response.headers.has(dialect.header) || isReplayed(response, dialect)
}

/**
 * Whether an answer shows that the server honours keys: by a header, or by speaking of the key that is
 * in progress.
 */
export function showsKeys(response: Response, body: string, dialect: ClientDialect): boolean {
  return isHonoured(response, dialect) || (response.status === 409 && IN_PROGRESS.test(body))
}

/** Whether an answer came from another address than the one that was asked, after a redirect, or leads to one. */
export function isElsewhere({ url, status }: Response, asked: string): boolean {
  if (status >= 300 && status < 400 && status !== 304) return true
  return url !== '' && withoutFragment(url) !== withoutFragment(asked)
}

function withoutFragment(url: string): string {
  return url.replace(/#.*/, '')
}

/** What an answer means. The body is looked at where status and headers leave it open. */
export function meaningOf(response: Response, body: string, dialect: ClientDialect): Meaning {
  const { status } = response
  if (isReplayed(response, dialect)) return 'answer'
  if (status === 409 && SERVER_UNKNOWN.test(body)) return 'unknown'
  const advice = adviceOf(response, dialect)
  if (advice === 'never') {
    return AT_THE_DOOR.includes(status) || LATER.includes(status) ? 'refused' : 'answer'
  }
  if (status === 409) {
    const isRunning =
      advice === 'again' || response.headers.has('Retry-After') || IN_PROGRESS.test(body)
    return isRunning ? 'in-progress' : 'answer'
  }
  if (LATER.includes(status)) return 'later'
  if (RETRIED.includes(status) || (advice === 'again' && status >= 400)) return 'failed'
  if (AT_THE_DOOR.includes(status)) return 'refused'
  return status >= 500 && !DEFINITE.includes(status) ? 'unknown' : 'answer'
}

function adviceOf({ headers }: Response, { marks }: ClientDialect): 'again' | 'never' | undefined {
  const { header = '_', again, never } = marks?.retry ?? {}
  for (const name of [header, ...ADVICE]) {
    const value = headers.get(name)
    if (value === 'false' || value === never) return 'never'
    if (value === 'true' || value === 'same-key' || value === again) return 'again'
  }
  return undefined
}

/**
 * Milliseconds that `Retry-After` asks for; `undefined` when it says nothing. A date is held against
 * the clock of the server that wrote it, where that is visible.
 */
export function retryAfterMs({ headers }: Response, unixMs: number): number | undefined {
  const value = headers.get('Retry-After')
  if (!value) return undefined
  if (/^\d+$/.test(value)) return Number(value) * 1000
  const sent = Date.parse(headers.get('Date') ?? '') || unixMs
  const ms = Date.parse(value) - sent
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}
