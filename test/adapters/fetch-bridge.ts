/**
 * The smallest server for handlers from `Request` to `Response`: each piece of a body is one write,
 * so that what is on the wire says exactly what the handler handed over.
 *
 * @module
 */

import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import type { Store } from '../../src/index.ts'
import type { Deed, ParserPlace, Served } from '../../src/testing/adapter-contract.ts'

/** What serves requests. */
export type Fetch = (request: Request) => Response | Promise<Response>

/** What answers on Node; failures are its own affair. */
type Listener = (incoming: IncomingMessage, outgoing: ServerResponse) => void | Promise<void>

/** Serves `fetch`; what it throws is kept and answered with a bare 500. */
export function serveFetch(fetch: Fetch, errors: unknown[] = []): Promise<Served> {
  return listen((incoming, outgoing) => {
    respond(fetch, incoming, outgoing).catch((error: unknown) => {
      errors.push(error)
      if (!outgoing.headersSent) outgoing.writeHead(500, { 'Content-Type': 'text/plain' })
      outgoing.end('failed')
    })
  }, errors)
}

/** Listens on 127.0.0.1. */
export async function listen(listener: Listener, errors: unknown[] = []): Promise<Served> {
  const server = createServer((incoming, outgoing) => {
    // Also where the handler's own headers say that the connection is kept.
    const isLast = incoming.headers.connection === 'close'
    if (isLast) outgoing.on('finish', () => incoming.socket.end())
    void listener(incoming, outgoing)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // A server that listens on TCP has an address with a port.
    port: (server.address() as AddressInfo).port,
    errors,
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function respond(
  fetch: Fetch,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const gone = new AbortController()
  outgoing.on('close', () => gone.abort())
  const response = await fetch(requestOf(incoming, gone.signal))
  const headers = [...response.headers].flat()
  outgoing.writeHead(response.status, response.statusText || undefined, headers)
  const reader = response.body?.getReader()
  outgoing.on('close', () => void reader?.cancel().catch(() => undefined))
  outgoing.flushHeaders()
  for (;;) {
    const next = await reader?.read()
    if (next?.value === undefined) break
    if (!outgoing.write(next.value)) await once(outgoing, 'drain', { signal: gone.signal })
  }
  outgoing.end()
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (let at = 0; at < incoming.rawHeaders.length; at += 2) {
    headers.append(incoming.rawHeaders[at] ?? '', incoming.rawHeaders[at + 1] ?? '')
  }
  const method = incoming.method ?? 'GET'
  const hasBody = method !== 'GET' && method !== 'HEAD'
  // The types of streams in Node and in the DOM differ in name only.
  const body = hasBody ? (Readable.toWeb(incoming) as ReadableStream<Uint8Array>) : null
  const init = { method, headers, signal, body, duplex: 'half' }
  return new Request(`http://${incoming.headers.host}${incoming.url}`, init)
}

/** What a function around a handler does: it answers with what is there first. */
export function raced<Rest extends readonly unknown[]>(
  early: (() => Promise<Deed>) | undefined,
  handler: (request: Request, ...rest: Rest) => Response | Promise<Response>,
): (request: Request, ...rest: Rest) => Response | Promise<Response> {
  if (early === undefined) return handler
  return (request, ...rest) => Promise.race([handler(request, ...rest), early().then(deedResponse)])
}

/** The body as a deed is told it. */
export async function bodyOf(request: Request, parser: ParserPlace): Promise<unknown> {
  return parser === 'none' ? bytesFrom(request) : parsed(request.headers, await request.text())
}

/** The bytes of a body. */
export async function bytesFrom(request: Request): Promise<Uint8Array> {
  return new Uint8Array(await request.arrayBuffer())
}

/** A body as handlers of this family parse it. */
export function parsed(headers: Headers, text: string): unknown {
  const type = headers.get('content-type') ?? ''
  if (type.includes('json')) return JSON.parse(text)
  return type.includes('urlencoded') ? Object.fromEntries(new URLSearchParams(text)) : text
}

/** A deed as a `Response`. */
export function deedResponse(deed: Deed): Response {
  const headers = new Headers()
  for (const [name, value] of deed.headers ?? []) headers.append(name, value)
  const init = { status: deed.status, headers }
  switch (deed.how) {
    case 'send':
      return new Response(typeof deed.body === 'string' ? deed.body : Buffer.from(deed.body), init)
    case 'json':
      return Response.json(deed.body, init)
    case 'end':
      return new Response(null, init)
    case 'write':
      return new Response(
        streamOf(Readable.from(deed.body.map((piece) => Buffer.from(piece)))),
        init,
      )
    case 'stream':
      return new Response(streamOf(Readable.from(deed.body)), init)
    case 'file':
      return new Response(streamOf(createReadStream(deed.path)), init)
    case 'redirect':
      headers.set('location', deed.location)
      return new Response(null, init)
  }
}

function streamOf(readable: Readable): ReadableStream<Uint8Array> {
  // The types of streams in Node and in the DOM differ in name only.
  return Readable.toWeb(readable) as ReadableStream<Uint8Array>
}

/** Ends the claim of the one request that runs, as a lease that lapses does. */
export async function giveUp(store: Store): Promise<void> {
  const { records } = await store.list({ limit: 1 })
  for (const { record } of records) {
    if (record.owner !== null) await store.release({ ...record, owner: record.owner }, 'forget')
  }
}
