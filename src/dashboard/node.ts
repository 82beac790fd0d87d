/**
 * The dashboard on `node:http`, and the translation that the other frameworks on Node share.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import type { ReadableStream as NodeStream } from 'node:stream/web'
import type { Dashboard } from './dashboard.ts'
import type { MountPoint } from './mount.ts'

/** A request, with what a framework may have made of it. */
export interface NodeRequest extends IncomingMessage {
  /** What a body parser left, if there was one. */
  readonly body?: unknown
}

/** What a framework knows better than the request itself. */
export interface NodeMount extends MountPoint {
  /** The path as the client sent it, with the query. */
  readonly url: string
}

/**
 * A listener for `createServer`. With `base`, whatever is not below it is left to `next`.
 *
 * @example
 * ```ts
 * createServer(dashboardListener(dashboard)).listen(9000)
 * ```
 */
export function dashboardListener(
  dashboard: Dashboard,
  { base }: Pick<MountPoint, 'base'> = {},
): (request: IncomingMessage, response: ServerResponse, next?: () => void) => void {
  return (request, response, next) => {
    const url = request.url ?? '/'
    if (base !== undefined && !isBelow(url, base)) {
      if (next !== undefined) return next()
      response.writeHead(404).end()
      return
    }
    const mount = { url, ip: request.socket.remoteAddress ?? null }
    void serveNode(dashboard, { request, response }, { ...mount, ...(base && { base }) })
  }
}

/** Whether a URL is that of the base, or below it. */
export function isBelow(url: string, base: string): boolean {
  const [path = ''] = url.split('?')
  const trimmed = base.replace(/\/+$/, '')
  return path === trimmed || path.startsWith(`${trimmed}/`)
}

/** Has the dashboard answer a request of Node. Never rejects. */
export async function serveNode(
  dashboard: Dashboard,
  { request, response }: { readonly request: NodeRequest; readonly response: ServerResponse },
  { url, ...mount }: NodeMount,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  try {
    const answer = await dashboard(requestOf(request, url, gone.signal), mount)
    await send(answer, response)
  } catch (error) {
    // The client has gone, or something is broken that nobody foresaw.
    if (!gone.signal.aborted) process.emitWarning(error instanceof Error ? error : String(error))
    if (response.headersSent) response.destroy()
    else response.writeHead(500).end()
  }
}

function requestOf(request: NodeRequest, url: string, signal: AbortSignal): Request {
  const { method = 'GET' } = request
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) {
    // Those of HTTP/2 that are no headers begin with a colon.
    if (value === undefined || name.startsWith(':')) continue
    for (const line of [value].flat()) headers.append(name, line)
  }
  const authority = request.headers[':authority']
  if (!headers.has('host') && typeof authority === 'string') headers.set('host', authority)
  const init = { method, headers, signal }
  const target = new URL(url, 'http://dashboard')
  if (method === 'GET' || method === 'HEAD') return new Request(target, init)
  return new Request(target, { ...init, ...bodyOf(request) })
}

/** The body, also after a parser has read it. */
function bodyOf(request: NodeRequest): RequestInit & { duplex?: 'half' } {
  const { body } = request
  const isRead = request.readableEnded || request.readableDidRead
  if (isRead || body !== undefined) {
    if (body === undefined) return { body: null }
    if (typeof body === 'string') return { body }
    return { body: body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body) }
  }
  // The same stream; Node and the browser name its type apart.
  return { body: Readable.toWeb(request) as unknown as BodyInit, duplex: 'half' }
}

/** Writes an answer; one that goes on and on is written as it comes. */
async function send(answer: Response, response: ServerResponse): Promise<void> {
  response.statusCode = answer.status
  for (const [name, value] of answer.headers) response.setHeader(name, value)
  if (answer.body === null) {
    response.end()
    return
  }
  // The same stream; Node and the browser name its type apart.
  const stream = Readable.fromWeb(answer.body as unknown as NodeStream)
  response.once('close', () => stream.destroy())
  stream.on('error', () => response.destroy())
  response.flushHeaders()
  stream.pipe(response)
}
