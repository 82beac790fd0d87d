/**
 * What the server does, told to whoever looks on as it happens: `GET /demo/events`.
 *
 * @module
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { isRepriseError } from 'reprise'
import type { NodeWatch } from '../server/node.ts'

/** Something that happened. */
export interface LiveEvent {
  readonly kind: 'request' | 'answer' | 'point' | 'killed' | 'engine' | 'worker'
  /** In words. */
  readonly text: string
  /** The key of the request, where it is about one. */
  readonly key?: string
}

/** How long a browser waits before it comes back, in milliseconds. */
const RETRY_MS = 200

/** How often a silent stream says that it is still there, in milliseconds. */
const BEAT_MS = 15_000

/** Paths whose requests are told of. */
const TOLD = /^\/(rides|demo\/payments)(\/|$)/

/** Everybody who looks on. */
export class LiveEvents {
  readonly #responses = new Set<ServerResponse>()
  readonly #startedAt = Date.now()

  /** For the node: its engine, its workers, and the points that its runs reach. */
  readonly watch: NodeWatch = {
    onEvent: ({ type, id, error }) => {
      const why = error === undefined ? '' : `: ${describe(error)}`
      this.publish({ kind: 'engine', text: `${type}, record ${short(id ?? 'none')}${why}` })
    },
    onWorkerEvent: ({ worker, done, record, error }) => {
      if (record === undefined && done === 0) return
      const what = record ? `${record.ending}, record ${short(record.id)}` : `${done} done`
      const why = error === undefined ? '' : `: ${describe(error)}`
      this.publish({ kind: 'worker', text: `${worker}: ${what}${why}` })
    },
    onPoint: (point, isKilled) => {
      this.publish(
        isKilled
          ? { kind: 'killed', text: `${point}: process ${process.pid} gets SIGKILL` }
          : { kind: 'point', text: `reached ${point}` },
      )
    },
  }

  /** Serves the stream. */
  readonly listener: RequestListener = (request, response) => {
    if (request.method !== 'GET') {
      response.writeHead(405, { Allow: 'GET' }).end()
      return
    }
    response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-store',
      'X-Content-Type-Options': 'nosniff',
    })
    const hello = { pid: process.pid, startedAt: this.#startedAt }
    response.write(`retry: ${RETRY_MS}\nevent: hello\ndata: ${JSON.stringify(hello)}\n\n`)
    const beat = setInterval(() => response.write(':\n\n'), BEAT_MS).unref()
    this.#responses.add(response)
    response.on('close', () => {
      clearInterval(beat)
      this.#responses.delete(response)
    })
  }

  /** Tells everybody. */
  publish(event: LiveEvent): void {
    const data = JSON.stringify({ ...event, pid: process.pid, at: Date.now() })
    for (const response of this.#responses) response.write(`event: live\ndata: ${data}\n\n`)
  }

  /** The same listener, with its payments told of. */
  watched(answer: RequestListener): RequestListener {
    return (request, response) => {
      // Browsers send a request again, unseen, when a kept connection breaks. Without kept ones, what
      // the page counts is what was sent.
      if (request.headers['sec-fetch-site'] !== undefined) response.shouldKeepAlive = false
      if (request.method === 'POST' && TOLD.test(request.url ?? '')) this.#tell(request, response)
      answer(request, response)
    }
  }

  #tell(request: IncomingMessage, response: ServerResponse): void {
    const { method, url, headers } = request
    const { 'demo-fault': fault, 'idempotency-key': given } = headers
    const key = typeof given === 'string' ? { key: given } : {}
    const what = `${method} ${url}${given ? ` with key ${short(String(given))}` : ''}`
    const asks = fault === undefined ? '' : `, asks for ${String(fault)}`
    this.publish({ kind: 'request', text: `${what}${asks}`, ...key })
    response.on('close', () => {
      const { statusCode, writableFinished } = response
      const mark = response.getHeader('idempotent-replayed') === undefined ? '' : ', replayed'
      const text = writableFinished ? `${statusCode}${mark}` : 'the connection was cut'
      this.publish({ kind: 'answer', text: `${what}: ${text}`, ...key })
    })
  }
}

function short(text: string): string {
  return text.length > 12 ? `${text.slice(0, 8)}…` : text
}

function describe(error: unknown): string {
  if (isRepriseError(error)) return error.code
  return error instanceof Error ? error.message : String(error)
}
