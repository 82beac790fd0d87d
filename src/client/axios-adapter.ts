/**
 * An adapter for axios before 1.12, whose own adapters call no `fetch` but the platform's.
 *
 * @module
 */

import type { Client } from './client.ts'

/** What axios asks an adapter to send, as far as it is used. */
export interface AxiosRequest {
  readonly url?: string
  readonly baseURL?: string
  readonly method?: string
  readonly headers?: object
  readonly data?: unknown
  readonly auth?: { readonly username?: string; readonly password?: string }
  readonly responseType?: string
  readonly signal?: AbortSignal
  readonly cancelToken?: { readonly promise: Promise<unknown> }
  readonly validateStatus?: ((status: number) => boolean) | null
}

/** What an adapter gives back. */
export interface AxiosAnswer {
  readonly data: unknown
  readonly status: number
  readonly statusText: string
  readonly headers: Readonly<Record<string, string>>
  readonly config: AxiosRequest
  readonly request: null
}

const ABSOLUTE = /^([a-z][a-z\d+.-]*:)?\/\//i

/** Sends what axios asks for through `client`. */
export function axiosAdapter(
  axios: { getUri(config?: never): string },
  client: Client,
): (config: AxiosRequest) => Promise<AxiosAnswer> {
  return async (config) => {
    const response = await send(axios, client, config).catch((cause: unknown) => {
      const message = cause instanceof Error ? cause.message : String(cause)
      throw axiosError(message, { code: 'ERR_NETWORK', config, cause })
    })
    const { status, statusText } = response
    const data = await read(response, config.responseType)
    const headers = Object.fromEntries(response.headers)
    const answer = { data, status, statusText, headers, config, request: null }
    const { validateStatus } = config
    if (!validateStatus || validateStatus(status)) return answer
    const code = status < 500 ? 'ERR_BAD_REQUEST' : 'ERR_BAD_RESPONSE'
    const message = `Request failed with status code ${status}`
    throw axiosError(message, { code, config, response: answer, status })
  }
}

function send(
  axios: { getUri(config?: never): string },
  client: Client,
  config: AxiosRequest,
): Promise<Response> {
  const { method = 'get', data, signal, cancelToken } = config
  const stop = new AbortController()
  void cancelToken?.promise.then((reason) => stop.abort(reason))
  const signals = [stop.signal, ...(signal === undefined ? [] : [signal])]
  return client(uriOf(axios, config), {
    method: method.toUpperCase(),
    headers: headersOf(config),
    // What axios has made of the data is a body, or there is none.
    body: (data ?? null) as BodyInit | null,
    signal: AbortSignal.any(signals),
  })
}

/** The whole address; versions before 0.27 leave the base out. */
function uriOf(axios: { getUri(config?: never): string }, config: AxiosRequest): string {
  // Each version takes what it has made itself.
  const uri = axios.getUri(config as never)
  const { baseURL } = config
  if (!baseURL || ABSOLUTE.test(uri)) return uri
  return `${baseURL.replace(/\/+$/, '')}/${uri.replace(/^\/+/, '')}`
}

function headersOf({ headers = {}, auth, data }: AxiosRequest): Headers {
  const sent = new Headers()
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined && value !== null && value !== false) sent.set(name, String(value))
  }
  // The platform names the boundary.
  if (data instanceof FormData) sent.delete('Content-Type')
  if (auth !== undefined) {
    const bytes = new TextEncoder().encode(`${auth.username ?? ''}:${auth.password ?? ''}`)
    sent.set('Authorization', `Basic ${btoa(String.fromCharCode(...bytes))}`)
  }
  return sent
}

/** The body as the app asks for it. What is JSON, axios parses itself. */
async function read(response: Response, responseType: string | undefined): Promise<unknown> {
  if (responseType === 'arraybuffer') return response.arrayBuffer()
  if (responseType === 'blob') return response.blob()
  return responseType === 'stream' ? response.body : response.text()
}

/** An error that `axios.isAxiosError` knows; the class itself is out of reach. */
function axiosError(message: string, members: object): Error {
  return Object.assign(new Error(message), { name: 'AxiosError', isAxiosError: true, ...members })
}
