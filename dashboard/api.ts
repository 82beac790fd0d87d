/**
 * The server's API.
 *
 * @module
 */

import type { OrderResult } from '../src/admin/orders.ts'
import { urlOf } from './router.tsx'

/** What the server says when it can not. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly retryAfterMs: number | undefined

  constructor(status: number, code: string, message: string, retryAfterMs?: number) {
    super(message)
    this.status = status
    this.code = code
    this.retryAfterMs = retryAfterMs
  }
}

/** Reads. */
export async function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  const response = await request(path, { signal: signal ?? null })
  // The server's own types.
  return parsed(response) as Promise<T>
}

/** How an order ended, for a person. */
export type Ended = OrderResult & { readonly text?: string }

/**
 * Orders something. The key is the same however often this order is sent, so a double click, or a
 * retry after a lost answer, has one effect.
 */
export async function order<T = Ended>(path: string, body: object, key: string): Promise<T> {
  const send = () =>
    request(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      body: JSON.stringify(body),
    })
  const response = await send().catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'network') return send()
    throw error
  })
  // The server's own types.
  return parsed(response, true) as Promise<T>
}

/** A fresh key for an order; also where the browser gives no UUIDs, on plain HTTP. */
export function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

async function request(path: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(urlOf(`api/${path}`), { ...init, credentials: 'same-origin' })
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error
    throw new ApiError(0, 'network', 'The server does not answer.', 5000)
  }
}

async function parsed(response: Response, takesResults = false): Promise<unknown> {
  const type = response.headers.get('content-type') ?? ''
  if (!type.startsWith('application/json')) {
    throw new ApiError(response.status, 'not_json', 'What answered is not the dashboard’s API.')
  }
  const body = await response.json()
  if (response.ok || (takesResults && 'outcome' in body)) return body
  const { code = 'unknown', message = response.statusText, retryAfterMs } = body.error ?? {}
  throw new ApiError(response.status, code, message, retryAfterMs)
}
