/**
 * Keys and safe retries for axios (0.27 or later).
 *
 * @module
 */

import { AXIOS, unsupported } from '../core/versions.ts'
import { axiosAdapter } from './axios-adapter.ts'
import type { Client } from './client.ts'

/** An instance of axios, by what is used of it. */
export interface AxiosLike {
  readonly defaults: {
    adapter?: unknown
    env?: unknown
    timeout?: unknown
    transformResponse?: unknown
  }
  /** Only axios itself says it; instances do not. */
  readonly VERSION?: string
  getUri(config?: never): string
}

/**
 * Has an instance of axios send through a client, whose deadline holds instead of axios's time-out.
 * What the client throws is the `cause` of the `AxiosError`.
 *
 * @example
 * ```ts
 * const api = withIdempotency(axios.create({ baseURL }), createClient())
 * ```
 * @throws RepriseError `reprise-version-unsupported`
 */
export function withIdempotency<Axios extends AxiosLike>(axios: Axios, client: Client): Axios {
  if (!('getUri' in axios)) throw unsupported(AXIOS, 'without getUri()')
  const { defaults } = axios
  defaults.timeout = 0
  if (takesFetch(axios)) {
    defaults.adapter = 'fetch'
    // Without Request, axios hands the body over as it is, and not as a stream.
    defaults.env = { ...Object(defaults.env), fetch: client, Request: null, Response }
  } else {
    defaults.adapter = axiosAdapter(axios, client)
  }
  return axios
}

/**
 * Whether its own adapter calls the `fetch` that it is told: from 1.12 on. An instance does not say its
 * version. What came with 1.12 as well is that JSON is read with `parseReviver`; an instance that reads
 * answers in another way is taken for an older one, for which the adapter here does.
 */
function takesFetch({ VERSION, defaults }: AxiosLike): boolean {
  if (VERSION !== undefined) {
    const [major = 0, minor = 0] = VERSION.split('.').map(Number)
    return major > 1 || (major === 1 && minor >= 12)
  }
  const readers = [defaults.transformResponse].flat()
  return readers.some((read) => typeof read === 'function' && String(read).includes('parseReviver'))
}
