/**
 * Keys and safe retries for ky (0.28 or later).
 *
 * @module
 */

import type { Client } from './client.ts'

/** ky, by what is used of it. */
export interface KyLike<Instance> {
  extend(options: { fetch: Client; retry: number; timeout: false }): Instance
}

/**
 * A ky that sends through a client. Only the client retries: at one layer, with one key.
 *
 * @example
 * ```ts
 * const api = withIdempotency(ky, createClient())
 * ```
 */
export function withIdempotency<Instance>(ky: KyLike<Instance>, client: Client): Instance {
  return ky.extend({ fetch: client, retry: 0, timeout: false })
}
