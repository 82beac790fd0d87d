/**
 * One attempt at a payment: what is sent, and what is heard of it. For the page and for Node.
 *
 * @module
 */

/** What is sent. */
export interface Sent {
  readonly path: string
  readonly key: string
  /** Value of `Demo-Fault`; empty for none. */
  readonly fault: string
  /** Latitude of where the ride goes: another one is another request. */
  readonly target: number
}

/** What is heard of it. */
export interface Heard {
  /** `null` when the connection broke before there was an answer. */
  readonly status: number | null
  readonly isReplayed: boolean
  /** When to come back, in milliseconds; `null` when nothing was said. */
  readonly retryAfterMs: number | null
  readonly body: string
  readonly tookMs: number
}

/** How long an attempt may take, in milliseconds. */
const TIMEOUT_MS = 20_000

/** Where rides go, and where those go that are another request. */
export const TARGETS = { usual: 48.85, other: 40.71 } as const

/** Sends it. Never throws: a connection that breaks is something that is heard. */
export async function send(sent: Sent, base = ''): Promise<Heard> {
  const startedAt = performance.now()
  const took = () => Math.round(performance.now() - startedAt)
  try {
    const response = await fetch(`${base}${sent.path}`, {
      method: 'POST',
      headers: headersOf(sent),
      body: bodyOf(sent),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN)
    return {
      status: response.status,
      isReplayed: response.headers.get('idempotent-replayed') === 'true',
      retryAfterMs: Number.isFinite(retryAfter) ? retryAfter * 1000 : null,
      body: await response.text(),
      tookMs: took(),
    }
  } catch {
    return { status: null, isReplayed: false, retryAfterMs: null, body: '', tookMs: took() }
  }
}

/** Whether it makes no sense to send it again: it is done, or it is wrong. */
export function isFinal({ status, retryAfterMs }: Heard): boolean {
  if (status === null || status >= 500) return false
  return retryAfterMs === null
}

/** How long to wait before the next attempt, in milliseconds. */
export function pauseBefore(attempt: number, { retryAfterMs }: Heard): number {
  return retryAfterMs ?? Math.min(250 * attempt, 1000)
}

/** The same attempt on the command line. */
export function curlOf(sent: Sent, base: string): string {
  const headers = Object.entries(headersOf(sent)).map(([name, value]) => `-H '${name}: ${value}'`)
  return [`curl -i ${base}${sent.path}`, ...headers, `-d '${bodyOf(sent)}'`].join(' \\\n  ')
}

function headersOf({ key, fault }: Sent): Record<string, string> {
  return {
    Authorization: 'user@example.com',
    'Content-Type': 'application/json',
    'Idempotency-Key': key,
    ...(fault === '' ? {} : { 'Demo-Fault': fault }),
  }
}

function bodyOf({ target }: Sent): string {
  return JSON.stringify({
    origin_lat: 52.52,
    origin_lon: 13.4,
    target_lat: target,
    target_lon: 2.35,
  })
}
