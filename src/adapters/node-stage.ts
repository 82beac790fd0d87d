/**
 * A response that leads nowhere. What a handler does is done to it first, so that Node itself says
 * what comes of it: what is returned, what is thrown, whether the head is sent.
 *
 * @module
 */

import { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import type { Header } from '../core/response.ts'
import { invoke } from './node-calls.ts'
import type { Cover } from './node-cover.ts'
import { headersOf, isOfConnection, setHeaders } from './node-head.ts'

/** A stage. */
export interface Stage {
  readonly response: ServerResponse
  /** The head of what was done on it, as Node writes it, one character per byte. */
  head(): StagedHead
  /** Whether events follow one by one. */
  hasEvents(): boolean
  /** Has whoever looks at the response see the stage. */
  show(cover: Cover): void
}

/** What was said on a stage before the body. */
export interface StagedHead {
  readonly status: number
  readonly message: string | undefined
  readonly headers: readonly Header[]
  /** Whether the body follows in chunks, without its length. */
  readonly isChunked: boolean
}

/** A stage for a response, with the head that the response has by now. */
export function createStage(response: ServerResponse): Stage {
  const stage = new ServerResponse(response.req)
  const sink = new Sink()
  // Node asks no more of it than to be written to.
  stage.assignSocket(sink as unknown as Socket)
  stage.on('error', (error) => response.emit('error', error))
  stage.strictContentLength = response.strictContentLength
  stage.sendDate = false
  copyStatus(response, stage)
  setHeaders(stage, headersOf(response))
  const head: Stage['head'] = () => {
    if (sink.head === undefined) stage.flushHeaders()
    const lines = headersIn(sink.head ?? '')
    return {
      status: stage.statusCode,
      message: stage.statusMessage,
      headers: lines.filter(([name]) => !isOfConnection(name)),
      isChunked: lines.some(isOfChunks),
    }
  }
  return {
    response: stage,
    head,
    hasEvents: () => head().headers.some(isOfEvents),
    show(cover) {
      for (const name of HEAD_METHODS) cover.method(name, (args) => invoke(stage, name, args))
      for (const name of SEEN) cover.property(name, () => Reflect.get(stage, name))
    },
  }
}

const HEAD_METHODS = [
  ...['setHeader', 'setHeaders', 'appendHeader', 'removeHeader'],
  ...['getHeader', 'getHeaders', 'getHeaderNames', 'getRawHeaderNames', 'hasHeader'],
]

/**
 * What can be seen of a response once its head is sent. The deprecated `finished` stays the truth: by
 * it a server that closes tells idle connections from those that it still owes an answer.
 */
const SEEN = ['headersSent', '_header', 'writableEnded', 'writableCorked']

function isOfEvents([name, value]: Header): boolean {
  return name.toLowerCase() === 'content-type' && /^text\/event-stream\b/i.test(value)
}

function isOfChunks([name, value]: Header): boolean {
  return name.toLowerCase() === 'transfer-encoding' && /\bchunked\b/i.test(value)
}

/** Gives one response the status of another. */
export function copyStatus(from: ServerResponse, to: ServerResponse): void {
  to.statusCode = from.statusCode
  // HTTP/2 has no messages, and warns whoever looks at one.
  if ('stream' in from || 'stream' in to) return
  if (from.statusMessage) to.statusMessage = from.statusMessage
}

/** A connection that leads nowhere. */
export function nowhere(): Socket {
  // Node asks no more of it than to be written to.
  return new Sink() as unknown as Socket
}

/** Takes everything at once and keeps the head. */
class Sink extends Writable {
  head: string | undefined
  #start = ''
  #corks = 0

  constructor() {
    super({ highWaterMark: Number.MAX_SAFE_INTEGER })
    // Corks are only counted: the head is wanted at once.
    Object.defineProperty(this, 'writableCorked', { get: () => this.#corks })
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    if (this.head === undefined) {
      this.#start += chunk.toString('latin1')
      const end = this.#start.indexOf('\r\n\r\n')
      if (end >= 0) this.head = this.#start.slice(0, end)
    }
    done()
  }

  override cork(): void {
    this.#corks++
  }

  override uncork(): void {
    this.#corks = Math.max(0, this.#corks - 1)
  }
}

/** The headers of a head as Node writes it. */
export function headersIn(head: string): readonly Header[] {
  const [, ...lines] = head.split('\r\n')
  return lines.map((line): Header => {
    const colon = line.indexOf(':')
    return [line.slice(0, colon), line.slice(colon + 1).trim()]
  })
}
