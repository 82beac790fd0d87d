/**
 * Holds back what a handler writes to a Node response until its answer is stored, then sends it by
 * the very calls that the handler made: the client gets the bytes it would have got without us.
 *
 * ```
 * holding ──end()──────────────► captured ──release()──► sent
 *    │  ├─too large, or a stream─► captured (without its body) ──release()──► lets the rest through
 *    │  └─destroy(), failed pipe─► destroyed
 *    └─ discard() at any time: the handler's answer is thrown away, another is sent
 * ```
 *
 * While it holds, every call goes to a stage, so the handler sees what Node would have shown it.
 * Interim responses and trailers are not held: the former have to go out at once, the latter wait in
 * the response by themselves.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { CapturedResponse, Header } from '../core/response.ts'
import { Cover } from './node-cover.ts'
import { headersOf, markedArgs, setHeaders } from './node-head.ts'
import { NodeSources } from './node-sources.ts'
import { copyStatus, createStage, type Stage } from './node-stage.ts'
import type { CaptureOptions } from './options.ts'

type Held = readonly [method: string, args: readonly unknown[]]

/** One response being held back. */
export class NodeCapture {
  /** The answer; rejects when the handler gives it up. */
  readonly captured: Promise<CapturedResponse>
  readonly #response: ServerResponse
  readonly #options: CaptureOptions
  readonly #cover: Cover
  readonly #sources: NodeSources
  readonly #headersBefore: readonly Header[]
  readonly #statusBefore: number
  readonly #held: Held[] = []
  readonly #chunks: Buffer[] = []
  #bytes = 0
  /** There from the moment when the head would have been sent. */
  #stage: Stage | undefined
  #isImplying = false
  #isSettled = false
  #isGone = false
  #needsDrain = false
  #settle: (response: CapturedResponse) => void = () => {}
  #fail: (error: unknown) => void = () => {}

  constructor(response: ServerResponse, options: CaptureOptions) {
    this.#response = response
    this.#options = options
    this.#headersBefore = headersOf(response)
    this.#statusBefore = response.statusCode
    this.captured = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#fail = reject
    })
    this.#cover = new Cover(response)
    this.#sources = new NodeSources(response, (error) => this.cut(error))
    this.#takeOver()
  }

  /** Sends what was held back, with these headers added, and lets everything after it through. */
  release(marks: readonly Header[]): void {
    const response = this.#response
    this.#letGo()
    this.#isGone = true
    // Whatever was assigned after the head could no longer change it.
    if (this.#stage !== undefined) copyStatus(this.#stage.response, response)
    const [first, ...rest] = this.#held
    const head = first?.[0] === 'writeHead' ? markedArgs(first[1], marks) : undefined
    if (head === undefined) setHeaders(response, marks)
    if (first !== undefined) this.#cover.call(first[0], head ?? first[1])
    for (const [name, args] of rest) this.#cover.call(name, args)
    if (this.#needsDrain && !this.#isEnded) response.emit('drain')
  }

  /**
   * Throws away what the handler answered, its headers included, so that another can be sent. Says
   * whether one can: not when the response is destroyed, or sent in part.
   */
  discard(): boolean {
    const response = this.#response
    if (this.#isGone) {
      response.destroy()
      return false
    }
    this.#sources.unpipe()
    this.#letGo()
    // A handler that goes on writing writes after the end of the other answer, and must not crash us.
    if (!this.#isEnded) response.on('error', () => {})
    for (const name of response.getHeaderNames()) response.removeHeader(name)
    setHeaders(response, this.#headersBefore)
    response.addTrailers({})
    response.statusCode = this.#statusBefore
    if (!('stream' in response)) response.statusMessage = ''
    return true
  }

  /** Gives the answer up that is already being written: the rest will not come. */
  cut(error?: unknown): void {
    if (this.#stage !== undefined && !this.#isEnded) this.#destroy([error])
  }

  get #isEnded(): boolean {
    return this.#stage?.response.writableEnded === true
  }

  #takeOver(): void {
    const cover = this.#cover
    cover.method('writeHead', (args) => this.#writeHead(args))
    cover.method('writeHeader', (args) => this.#writeHead(args))
    cover.method('flushHeaders', () => this.#flushHeaders())
    cover.method('write', (args) => this.#write(args))
    cover.method('end', (args) => this.#end(args))
    cover.method('destroy', (args) => this.#destroy(args))
    for (const name of ['cork', 'uncork']) cover.method(name, () => this.#cork(name))
    for (const name of HEAD_METHODS) cover.method(name, (args) => this.#onHead(name, args))
    for (const [name, early] of SEEN) {
      cover.property(name, () => {
        return this.#stage === undefined ? early : Reflect.get(this.#stage.response, name)
      })
    }
    for (const name of ['destroyed', 'closed', '_closed']) cover.property(name, () => false)
  }

  #letGo(): void {
    this.#sources.stop()
    this.#cover.lift()
  }

  #writeHead(args: unknown[]): unknown {
    if (this.#isImplying) return this.#response
    this.#perform('writeHead', args)
    return this.#response
  }

  #flushHeaders(): void {
    this.#perform('flushHeaders', [])
    if (this.#isStream) this.#captureHead()
  }

  #write(args: unknown[]): boolean {
    const { chunk, encoding } = partsOf(args)
    if (this.#isEnded) return this.#perform('write', args) === true
    const kept = copied(chunk)
    const isTaken = this.#perform('write', args, [kept, encoding])
    this.#take(kept, encoding)
    if (this.#isStream || this.#bytes > this.#options.bodyBytesMax) this.#captureHead()
    this.#needsDrain ||= this.#isSettled
    return isTaken === true && !this.#isSettled
  }

  #end(args: unknown[]): ServerResponse {
    const { chunk, encoding, callback } = partsOf(args)
    if (this.#isEnded) {
      if (chunk) this.#perform('end', args)
      else if (callback !== undefined) this.#response.once('finish', callback)
      return this.#response
    }
    const kept = copied(chunk)
    this.#perform('end', [chunk, encoding], [kept, encoding, callback])
    this.#take(kept, encoding)
    this.#capture({ body: Buffer.concat(this.#chunks) })
    return this.#response
  }

  #cork(name: string): void {
    this.#held.push([name, []])
    if (this.#stage !== undefined) invoke(this.#stage.response, name, [])
  }

  /** The handler gives the answer up, as a pipeline does when its source fails. */
  #destroy(args: unknown[]): unknown {
    if (this.#isSettled) {
      this.#held.push(['destroy', args])
      return this.#response
    }
    this.#isSettled = true
    this.#isGone = true
    this.#letGo()
    this.#fail(args[0] ?? new Error('The handler destroyed its response.'))
    return this.#cover.call('destroy', args)
  }

  /** Headers are the response's own until they would have been sent; then nobody can change them. */
  #onHead(name: string, args: unknown[]): unknown {
    if (this.#stage === undefined) return this.#cover.call(name, args)
    return invoke(this.#stage.response, name, args)
  }

  /** Has a call done on the stage, and keeps it for later unless it fails. */
  #perform(name: string, args: unknown[], kept: readonly unknown[] = args): unknown {
    const wasEnded = this.#isEnded
    const stage = this.#stage ?? this.#enter(name)
    const result = invoke(stage.response, name, args)
    if (!wasEnded) this.#held.push([name, kept])
    this.#stage = stage
    copyStatus(stage.response, this.#response)
    return result
  }

  #enter(name: string): Stage {
    const response = this.#response
    if (name !== 'writeHead') {
      // Node makes a head by this call where the handler made none; others may have covered it too.
      this.#isImplying = true
      try {
        response.writeHead(response.statusCode)
      } finally {
        this.#isImplying = false
      }
    }
    const stage = createStage(response)
    for (const [corked] of this.#held) invoke(stage.response, corked, [])
    return stage
  }

  /** Events come one by one; a client that waits for the first would wait for ever. */
  get #isStream(): boolean {
    if (this.#options.streams === 'bypass') return true
    return !this.#isSettled && this.#stage?.headers().some(isOfEvents) === true
  }

  #take(chunk: unknown, encoding: unknown): void {
    // Node has just accepted the chunk in this encoding.
    const bytes =
      typeof chunk === 'string' ? Buffer.from(chunk, encoding as BufferEncoding | undefined) : chunk
    const { statusCode } = this.#stage?.response ?? this.#response
    const isBodiless = statusCode === 204 || statusCode === 304
    if (!Buffer.isBuffer(bytes) || isBodiless) return
    this.#bytes += bytes.byteLength
    if (!this.#isSettled) this.#chunks.push(bytes)
  }

  #captureHead(): void {
    this.#chunks.length = 0
    this.#capture({ body: new Uint8Array(), bodyIsStream: true })
  }

  #capture(body: Omit<CapturedResponse, 'status' | 'headers'>): void {
    if (this.#isSettled || this.#stage === undefined) return
    this.#isSettled = true
    const { response } = this.#stage
    this.#settle({ status: response.statusCode, headers: this.#stage.headers(), ...body })
  }
}

const HEAD_METHODS = [
  ...['setHeader', 'setHeaders', 'appendHeader', 'removeHeader'],
  ...['getHeader', 'getHeaders', 'getHeaderNames', 'getRawHeaderNames', 'hasHeader'],
]

/**
 * What can be seen of a response, and how it looks before its head is sent. The deprecated `finished`
 * stays the truth: by it a server that closes tells idle connections from those that it still owes an
 * answer.
 */
const SEEN: readonly (readonly [name: string, early: unknown])[] = [
  ['headersSent', false],
  ['_header', null],
  ['writableEnded', false],
  ['writableCorked', 0],
]

function isOfEvents([name, value]: Header): boolean {
  return name.toLowerCase() === 'content-type' && /^text\/event-stream\b/i.test(value)
}

type Callback = (...args: unknown[]) => void

/** The arguments of `write` and `end`, whichever are left out. */
function partsOf(args: readonly unknown[]): {
  readonly chunk: unknown
  readonly encoding: unknown
  readonly callback: Callback | undefined
} {
  const callback = args.find((arg): arg is Callback => typeof arg === 'function')
  const [chunk, encoding] = args.filter((arg) => typeof arg !== 'function')
  return { chunk, encoding: encoding ?? undefined, callback }
}

/** Whoever writes bytes may use their memory again as soon as the call is done. */
function copied(chunk: unknown): unknown {
  return chunk instanceof Uint8Array ? Buffer.from(chunk) : chunk
}

function invoke(stage: ServerResponse, name: string, args: readonly unknown[]): unknown {
  const method: unknown = Reflect.get(stage, name)
  if (typeof method !== 'function') throw new TypeError(`${name} is not a method`)
  return Reflect.apply(method, stage, args)
}
