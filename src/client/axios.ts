/**
 * Keys and safe retries for axios (1.12 or later).
 *
 * @module
 */

import type { Client } from './client.ts'

/** An instance of axios, by what is used of it. */
export interface AxiosLike {
  readonly defaults: { adapter?: unknown; env?: unknown; timeout?: unknown }
}

/**
 * Has an instance of axios send through a client, whose deadline holds instead of axios's time-out.
 * What the client throws is the `cause` of the `AxiosError`.
 *
 * @example
 * ```ts
 * const api = withIdempotency(axios.create({ baseURL }), createClient())
 * ```
 */
export function withIdempotency<Axios extends AxiosLike>(axios: Axios, client: Client): Axios {
  const { defaults } = axios
  defaults.adapter = 'fetch'
  // Without Request, axios hands the body over as it is, and not as a stream.
  defaults.env = { ...Object(defaults.env), fetch: client, Request: null, Response }
  defaults.timeout = 0
  return axios
}
