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
 * The handler sees what Node would have shown it. A plain answer is only noted: the response looks as
 * if its head were sent, and Node says the rest. Every other goes to a stage, call by call. Interim responses and trailers are not held: the former have to go out at once, the latter wait in
 * the response by themselves.
 *
 * @module
 */

import type { ServerResponse } from 'node:http'
import type { CapturedResponse, Header } from '../core/response.ts'
import { bytesOf, copied, type HeldCall, invoke, noop, partsOf, silenced } from './node-calls.ts'
import { Cover, type CoveredName, type StandIn } from './node-cover.ts'
import { deliveryOf, headersOf, markedCalls, setHeaders } from './node-head.ts'
import {
  isPlainBody,
  type PlainHead,
  plainHead,
  plainWriteHead,
  pretendEnded,
  pretendSent,
  setStatus,
} from './node-plain.ts'
import { type Listener, listen, NodeSources, unlisten } from './node-sources.ts'
import { copyStatus, createStage, type Stage } from './node-stage.ts'
import type { CaptureOptions } from './options.ts'

/** Who answers while the handler still works. */
export interface Front {
  /** Whether the code that runs now is not the handler's, although the handler still works. */
  readonly isForeign: boolean
  /** Has such code do what it called for. */
  answer(name: CoveredName, args: readonly unknown[]): unknown
}

/** One response being held back. */
export class NodeCapture implements StandIn, Listener {
  /** The answer; rejects when the handler gives it up. */
  readonly captured: Promise<CapturedResponse>
  /** The streams that are piped into the response. */
  readonly sources: NodeSources
  /** Told of calls that are not the handler's; without it every call counts as the handler's. */
  readonly #front: Front | undefined
  readonly #response: ServerResponse
  readonly #options: CaptureOptions
  readonly #cover: Cover
  readonly #headersBefore: readonly Header[]
  readonly #statusBefore: number
  readonly #held: HeldCall[] = []
  readonly #chunks: Buffer[] = []
  #bytes = 0
  /** There from the moment when the head of an answer that is not plain would have been sent. */
  #stage: Stage | undefined
  /** The head of an answer that is plain so far. */
  #plain: PlainHead | undefined
  #isPlainEnded = false
  #isImplying = false
  #isImplied = false
  #isSettled = false
  #isGone = false
  #needsDrain = false
  #settle: (response: CapturedResponse) => void = noop
  #fail: (error: unknown) => void = noop

  constructor(response: ServerResponse, options: CaptureOptions, front?: Front) {
    this.#response = response
    this.#front = front
    this.#options = options
    this.#headersBefore = headersOf(response)
    this.#statusBefore = response.statusCode
    this.captured = new Promise((resolve, reject) => {
      this.#settle = resolve
      this.#fail = reject
    })
    this.#cover = new Cover(response)
    this.sources = new NodeSources(response, (error) => this.cut(error))
    this.#cover.methods(this)
    listen(response, this)
    if (response.destroyed || response.closed) this.hide()
  }

  /** Sends what was held back, with these headers added, and lets everything after it through. */
  release(marks: readonly Header[]): void {
    const response = this.#response
    this.#letGo()
    this.#isGone = true
    // Whatever was assigned after the head could no longer change it.
    if (this.#stage !== undefined) copyStatus(this.#stage.response, response)
    if (this.#plain !== undefined) setStatus(response, this.#plain)
    const marked = markedCalls(this.#held, marks)
    if (marked === undefined) setHeaders(response, marks)
    for (const [name, args] of marked ?? this.#held) this.#cover.call(name, args)
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
    this.sources.unpipe()
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

  /** Whether no answer was written, or taken. */
  get isUntouched(): boolean {
    return this.#isUnwritten && !this.#isSettled
  }

  get #isUnwritten(): boolean {
    return !this.hasBegun && this.#held.length === 0
  }

  /** Takes an answer for the handler's own that was not written to the response. */
  take(answer: CapturedResponse): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#settle(answer)
  }

  /** Whether the handler has answered, or given up. */
  get isSettled(): boolean {
    return this.#isSettled
  }

  /** Leaves the response to the middleware in front; the handler's answer is what `late` captures. */
  handOver(late: NodeCapture): void {
    this.#letGo()
    late.captured.then(
      (answer) => {
        this.take(answer)
        late.release([])
      },
      (error: unknown) => this.giveUp(error),
    )
  }

  /** No answer is waited for any more. */
  giveUp(error: unknown): void {
    if (this.#isSettled) return
    this.#isSettled = true
    this.#fail(error)
  }

  /** Gives the answer up that is already being written: the rest will not come. */
  cut(error?: unknown): void {
    if ((this.#stage ?? this.#plain) && !this.#isEnded) this.#destroy([error])
  }

  /** Whether anything was written, by whomever. */
  get hasBegun(): boolean {
    return this.#isGone || (this.#stage ?? this.#plain) !== undefined
  }

  get #isEnded(): boolean {
    return this.#isPlainEnded || this.#stage?.response.writableEnded === true
  }

  /** What the handler's calls do. */
  act(name: CoveredName, args: unknown[]): unknown {
    if (this.#front?.isForeign === true && this.#isUnwritten) return this.#front.answer(name, args)
    if (name === 'end') return this.#end(args)
    if (name === 'write') return this.#write(args)
    if (name === 'destroy') return this.#destroy(args)
    if (name === 'flushHeaders') return this.#flushHeaders()
    return name === 'cork' || name === 'uncork' ? this.#cork(name) : this.#writeHead(args)
  }

  /** A client that has gone away is kept from the handler, which would give up. */
  hide(): void {
    for (const name of ['destroyed', 'closed', '_closed']) this.#cover.property(name, () => false)
  }

  #letGo(): void {
    this.sources.stop()
    unlisten(this.#response, this)
    this.#cover.lift()
    if (this.#plain !== undefined) pretendSent(this.#response, false)
  }

  #writeHead(args: unknown[]): unknown {
    const response = this.#response
    if (this.#isImplying) return response
    const isFirst = this.#stage === undefined && this.#held.length === 0
    const head = isFirst ? plainWriteHead(response, args) : undefined
    if (head === undefined) {
      this.#perform('writeHead', args)
      return response
    }
    // Node merges them into those that are set, and only then can they be read.
    if (response.getHeaderNames().length > 0) setHeaders(response, head.headers)
    setStatus(response, head)
    this.#held.push(['writeHead', args])
    this.#plain = head
    pretendSent(response, true)
    return response
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
    if (this.#endPlain(kept, encoding)) {
      this.#held.push(['end', [kept, encoding, callback]])
      return this.#response
    }
    this.#perform('end', [chunk, encoding], [kept, encoding, callback])
    this.#take(kept, encoding)
    this.#capture(Buffer.concat(this.#chunks))
    return this.#response
  }

  /** Ends a plain answer; says whether it is one. */
  #endPlain(chunk: unknown, encoding: unknown): boolean {
    if (this.#stage !== undefined || !isPlainBody(chunk, encoding)) return false
    if (this.#held.length === 0) this.#imply()
    const head = this.#held.length === 0 ? plainHead(this.#response) : this.#plain
    if (head === undefined) return false
    this.#plain = head
    this.#isPlainEnded = true
    if (!pretendEnded(this.#response)) this.#cover.property('writableEnded', () => true)
    this.#take(chunk, encoding)
    this.#capture(this.#chunks[0] ?? new Uint8Array())
    return true
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

  /** Has a call done on the stage, and keeps it for later unless it fails. */
  #perform(name: string, args: unknown[], kept: readonly unknown[] = args): unknown {
    const wasEnded = this.#isEnded
    const stage = this.#stage ?? this.#enter(name)
    const result = invoke(stage.response, name, args)
    if (!wasEnded) this.#held.push([name, kept])
    this.#play(stage)
    copyStatus(stage.response, this.#response)
    return result
  }

  #enter(name: string): Stage {
    if (this.#plain === undefined && name !== 'writeHead') this.#imply()
    // What was assigned after the head could no longer change it.
    if (this.#plain !== undefined) setStatus(this.#response, this.#plain)
    const stage = createStage(this.#response)
    for (const [held, args] of this.#held) invoke(stage.response, held, silenced(args))
    if (this.#plain !== undefined) {
      // From here on the stage knows more than what was pretended.
      pretendSent(this.#response, false)
      this.#plain = undefined
      this.#isPlainEnded = false
      this.#play(stage)
    }
    return stage
  }

  #play(stage: Stage): void {
    if (this.#stage === undefined) stage.show(this.#cover)
    this.#stage = stage
  }

  /** Node makes a head by this call where the handler made none; others may have covered it too. */
  #imply(): void {
    if (this.#isImplied || !this.#cover.isCoveredAgain('writeHead')) return
    this.#isImplied = true
    this.#isImplying = true
    try {
      this.#response.writeHead(this.#response.statusCode)
    } finally {
      this.#isImplying = false
    }
  }

  /** Events come one by one; a client that waits for the first would wait for ever. */
  get #isStream(): boolean {
    if (this.#options.streams === 'bypass') return true
    return !this.#isSettled && this.#stage?.hasEvents() === true
  }

  #take(chunk: unknown, encoding: unknown): void {
    const { statusCode } = this.#stage?.response ?? this.#response
    const bytes = bytesOf(chunk, encoding)
    if (bytes === undefined || statusCode === 204 || statusCode === 304) return
    this.#bytes += bytes.byteLength
    if (!this.#isSettled) this.#chunks.push(bytes)
  }

  #captureHead(): void {
    this.#chunks.length = 0
    this.#capture(new Uint8Array(), true)
  }

  #capture(body: Uint8Array, isStream = false): void {
    const head = this.#plain ?? this.#stage?.head()
    if (this.#isSettled || head === undefined) return
    this.#isSettled = true
    const { status, headers } = head
    const isChunked = !isStream && 'isChunked' in head && head.isChunked === true
    const delivery = deliveryOf({ status, message: head.message, isChunked })
    this.#settle(
      isStream
        ? { status, headers, body, delivery, bodyIsStream: true }
        : { status, headers, body, delivery },
    )
  }
}
