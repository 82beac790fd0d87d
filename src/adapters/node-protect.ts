/**
 * Protects a request of a Node framework. The decision comes first; only then does the framework go
 * on, and what it writes is held back until it is stored.
 *
 * @module
 */

import { type IncomingMessage, ServerResponse } from 'node:http'
import { isLater } from '../core/later.ts'
import type { CapturedResponse } from '../core/response.ts'
import { type Cancel, systemClock } from '../engine/clock.ts'
import type { Exchange } from './exchange.ts'
import { HandlerContext, type HandlerEnd, type HandlerListener } from './handler-context.ts'
import { type HeldCall, invoke, noop } from './node-calls.ts'
import { type Front, NodeCapture } from './node-capture.ts'
import { afterEvents } from './node-clock.ts'
import { type CoveredName, soften } from './node-cover.ts'
import { markedCalls, setHeaders } from './node-head.ts'
import { SentAnswer } from './node-sent.ts'
import { type Guest, type Shelter, shelterOf } from './node-shelter.ts'
import { HandlerHead, type Head, headNow, separateSides } from './node-sides.ts'
import { turn } from './node-turns.ts'
import { type CaptureOptions, UNANSWERED_MS } from './options.ts'
import type { Guard, Protected } from './protect.ts'
import { giveRun } from './run-of.ts'
import type { EarlyMarks, Execute, HttpRun } from './watched-handler.ts'

/** What is to happen: the framework goes on to the handler (`proceed`), or is done (`answered`). */
export type Start = 'proceed' | 'answered'

/** Told of an error that came when the handler had already answered. */
export type OnError = (error: unknown) => void

/** What the adapter gives of its framework. */
export interface NodeParts<Req, Tx> {
  readonly guard: Guard<Req, Tx>
  /** What the functions of the route's options are given. */
  readonly subject: Req
  readonly response: ServerResponse
  /** Left out where a subclass is told. */
  readonly onError?: OnError
}

/** One request that is protected; a framework may have its own way to send. */
export class NodeProtection<Req extends object, Tx> implements Guest, Front, HandlerListener {
  readonly subject: Req
  readonly response: ServerResponse
  /** Called when the handler is over and the client has an answer from elsewhere. */
  onLateEnd: () => void = noop
  readonly #guard: Guard<Req, Tx>
  readonly #onError: OnError | undefined
  #capture: NodeCapture | undefined
  #run: HttpRun<Tx> | undefined
  #marks: EarlyMarks | undefined
  /** There once the adapter has called the handler itself. */
  #handler: HandlerContext | undefined
  #head: HandlerHead | undefined
  /** The head of the response before anything was waited for. */
  #before: Head | undefined
  /** Whether the client has an answer from in front. */
  #isAnsweredEarly = false
  /** That answer, and where the handler's own comes. */
  #sent: SentAnswer | undefined
  #late: NodeCapture | undefined
  #limit: Cancel | undefined
  #shelter: Shelter | undefined
  #start: (start: Start) => void = noop
  #refuse: (error: unknown) => void = noop

  constructor({ guard, subject, response, onError }: NodeParts<Req, Tx>) {
    this.#guard = guard
    this.subject = subject
    this.response = response
    this.#onError = onError
  }

  /** The request itself. */
  get request(): IncomingMessage {
    return this.response.req
  }

  /** Told of an error that came when the handler had already answered. */
  protected onError(error: unknown): void {
    this.#onError?.(error)
  }

  /** Sends an answer that is not the handler's. */
  protected send(answer: CapturedResponse): void {
    sendNode(this.response, answer)
  }

  /** How much of a response is held back, and what is done with streams. */
  protected get captureOptions(): CaptureOptions {
    return this.#guard.captureOptions
  }

  /** The handler's answer, when it comes; `undefined` before the handler is called. */
  protected get captured(): Promise<CapturedResponse> | undefined {
    return this.#capture?.captured
  }

  /** Whether the handler was called. */
  protected get hasBegun(): boolean {
    return this.#capture !== undefined
  }

  /** Whether the client has an answer from in front. */
  get isAnsweredEarly(): boolean {
    return this.#isAnsweredEarly
  }

  /** Has the handler see what was set last, by whomever. */
  protected joinSides(): void {
    this.#head?.join()
  }

  /** Whether the handler has written anything to its response. */
  protected get hasWritten(): boolean {
    return (this.#late ?? this.#capture)?.hasBegun === true
  }

  /** Takes an answer for the handler's own that it has not written to its response. */
  protected take(answer: CapturedResponse): void {
    this.#capture?.take(answer)
  }

  /** The answer to the request, as it is to be stored. */
  protected answerOf(capture: NodeCapture): Promise<CapturedResponse> {
    return capture.captured
  }

  /** Told when everything is done that the protocol asks for. */
  protected onConcluded(): void {}

  /** Gives the handler its side of the run. */
  protected begin(run: HttpRun<Tx>): void {
    giveRun(this.subject, run)
  }

  /**
   * Takes the request through the protocol, and says as soon as it is known what is to happen. That is
   * now where nothing has to be waited for, as with most answers that are given again.
   *
   * @throws what stands in the way before the handler runs
   */
  protect(exchange: Exchange): Start | Promise<Start> {
    const { response } = this
    // Also worth it for an answer that is only sent.
    if (Object.getPrototypeOf(response) !== ServerResponse.prototype) soften(response, 'req')
    const execute: Execute<Tx> = (run, marks) => this.#execute(run, marks)
    const result = this.#guard.protect(this.subject, exchange, execute)
    if (isLater(result)) return this.#await(result)
    const due = dueOf(result)
    return due === undefined ? this.#conclude(result) : due.then(() => this.#conclude(result))
  }

  /**
   * Calls the handler, or has the framework call it, and learns when the promise that it returns has
   * settled. Adapters that cannot do so have every call count as the handler's.
   */
  handle<T>(call: () => T): T {
    if (this.#capture === undefined) return call()
    const handler = new HandlerContext(this)
    this.#handler = handler
    const { response } = this
    const before = this.#isAnsweredEarly ? this.#before : undefined
    this.#head = new HandlerHead(response, handler, before ?? headNow(response))
    this.divide(handler)
    if (this.#isAnsweredEarly) this.#separate(this.#head, handler)
    const returned = handler.run(call)
    handler.watch(returned)
    return returned
  }

  /** Whether the handler is known to run still. */
  get isHandling(): boolean {
    return this.#handler?.isPending === true
  }

  /** Has `answer` answer as a part of the handler, unless the handler has answered itself. */
  answerLate(answer: () => unknown): void {
    if (this.#capture?.isSettled === false) this.#handler?.run(answer)
  }

  /** The framework will not call the handler: nothing was done, and the key is free. */
  renounce(): void {
    this.#run?.release()
    this.#capture?.take(NOT_CALLED)
  }

  /** No answer of the handler will come. */
  abandon(error: unknown): void {
    this.#capture?.giveUp(error)
  }

  /** This process itself cuts the connection. */
  onCut(): void {
    this.#capture?.cut()
    this.#limitWait()
  }

  /** The handler has returned a promise. */
  onPromise(promise: PromiseLike<unknown>): void {
    this.#run?.holdUntil(promise)
  }

  /** The promise that the handler returned has settled. */
  onEnd(end: HandlerEnd): void {
    if (this.#capture === undefined || this.#capture.isSettled) return
    if (this.#isAnsweredEarly) {
      if (end.isFailed) return this.#capture.giveUp(end.error)
      this.finishLate()
    }
    this.#limitWait()
  }

  /** Whether the code that runs now is not the handler's, although the handler still works. */
  get isForeign(): boolean {
    return this.#handler?.isForeign === true
  }

  /** A middleware in front answers while the handler works: the client gets that answer. */
  answer(name: CoveredName, args: readonly unknown[]): unknown {
    const { response } = this
    const [head, handler] = [this.#head, this.#handler]
    this.#isAnsweredEarly = true
    this.#shelter?.leave(this, this.response)
    const call: HeldCall = [name, args.map(copiedHeaders)]
    if (head !== undefined && handler !== undefined) {
      this.#separate(head, handler)
      this.#sent = new SentAnswer(response, this.#guard.captureOptions.bodyBytesMax)
    }
    const marks = this.#marks?.(response.statusCode) ?? []
    const [marked] = markedCalls([call], marks) ?? []
    if (marked === undefined && name !== 'destroy') setHeaders(response, marks)
    return invoke(response, ...(marked ?? call))
  }

  /** Has the handler go on with a response that leads nowhere. */
  #separate(head: HandlerHead, handler: HandlerContext): void {
    const shadow = head.shadow()
    const late = new NodeCapture(shadow, this.#guard.captureOptions)
    this.#late = late
    this.#capture?.handOver(late)
    head.lift()
    this.startLate()
    separateSides(this.response, shadow, handler)
  }

  /** The handler begins: what the framework keeps of an answer is to have two sides. */
  protected divide(_handler: HandlerContext): void {}

  /** The handler's answer is decided on: nothing has two sides any more. */
  protected unite(): void {}

  /** Whether the framework may answer for a handler some time after its end. */
  protected get mayAnswerLater(): boolean {
    return this.onLateEnd !== noop
  }

  /** The client has an answer from in front: what the framework kept of it is not the handler's. */
  protected startLate(): void {}

  /** The handler is over, and the framework will not answer for it: called as a part of the handler. */
  protected finishLate(): void {
    this.onLateEnd()
  }

  #await(later: PromiseLike<Protected>): Promise<Start> {
    const { response, request } = this
    this.#before = headNow(response)
    this.#shelter = shelterOf(request)
    this.#shelter?.enter(this)
    // What a parser has read is read.
    if (!request.readableEnded) response.once('close', () => readRest(request))
    return new Promise((resolve, reject) => {
      this.#start = resolve
      this.#refuse = reject
      later.then(
        (result) => this.#arrive(result),
        (error: unknown) => this.#fail(error),
      )
    })
  }

  /** The handler may never answer: it is over, or its connection is cut. */
  #limitWait(): void {
    if (this.#limit !== undefined || this.#capture?.isSettled !== false) return
    const giveUp = (): void => {
      if (!this.#takeSent()) this.#capture?.giveUp(new UnansweredError())
    }
    // Most answer at once: the framework sends what the handler has returned.
    this.#limit = noop
    afterEvents(() => {
      this.#limit = undefined
      // A handler that still runs is waited for; its end is told.
      if (this.#capture?.isSettled !== false || this.isHandling) return
      if (!this.mayAnswerLater && this.#takeSent()) return
      this.#limit = systemClock.after(this.#guard.options.unansweredMs ?? UNANSWERED_MS, giveUp)
    })
  }

  /** The handler has answered nothing else, so what was sent while it ran was its own answer. */
  #takeSent(): boolean {
    if (this.#late?.isUntouched !== true) return false
    const marks = this.#marks?.(200) ?? []
    const answer = this.#sent?.answer(new Set(marks.map(([name]) => name.toLowerCase())))
    if (answer !== undefined) this.#capture?.take(answer)
    return answer !== undefined
  }

  #execute(run: HttpRun<Tx>, marks: EarlyMarks): Promise<CapturedResponse> {
    // A middleware in front may have answered before the claim was decided.
    this.#isAnsweredEarly = this.response.headersSent
    const capture = new NodeCapture(this.response, this.#guard.captureOptions, this)
    this.#capture = capture
    this.#run = run
    this.#marks = marks
    this.begin(run)
    const answer = this.answerOf(capture)
    this.#start('proceed')
    return answer
  }

  #arrive(result: Protected): void {
    const due = dueOf(result)
    if (due === undefined) this.#finish(result)
    else void due.then(() => this.#finish(result))
  }

  #finish(result: Protected): void {
    this.#leave()
    try {
      if (!this.#isAnsweredEarly) this.#start(this.#conclude(result))
    } catch (error) {
      return this.#fail(error)
    }
    this.onConcluded()
  }

  /** The handler's answer is decided on. */
  #leave(): void {
    this.#shelter?.leave(this, this.response)
    this.#limit?.()
    if (this.#head === undefined || this.#isAnsweredEarly) return
    this.#head.lift()
    this.unite()
  }

  #fail(error: unknown): void {
    this.#leave()
    // The handler has not run: whoever called us is told.
    if (this.#capture === undefined) return this.#refuse(error)
    if (!this.#isAnsweredEarly) this.#failRun(error, this.#capture)
    this.onConcluded()
  }

  /** The handler has run, and the framework that called it has gone on. */
  #failRun(error: unknown, capture: NodeCapture): void {
    // Nobody is told, because somebody else may use the connection; what still comes is let through.
    if (error instanceof UnansweredError) return capture.release([])
    try {
      if (capture.discard()) this.onError(error)
    } catch {
      this.response.destroy()
    }
    this.#start('answered')
  }

  /** Sends what is to be sent. */
  #conclude(result: Protected): Start {
    switch (result.kind) {
      case 'bypassed':
        setHeaders(this.response, result.marks)
        return 'proceed'
      case 'executed':
        this.#capture?.release(result.marks)
        return 'answered'
      case 'answered':
        if (this.#capture?.discard() ?? true) this.send(result.response)
        return 'answered'
    }
  }
}

/** Stands for the answer of a handler that is not called; nobody is sent it. */
const NOT_CALLED: CapturedResponse = { status: 503, headers: [], body: new Uint8Array() }

/** The handler has ended, or cut its connection, and has not answered since. */
class UnansweredError extends Error {
  constructor() {
    super('The handler has ended, or cut the connection, without an answer.')
    this.name = 'UnansweredError'
  }
}

/** Whoever gives an object of headers may change it. */
function copiedHeaders(arg: unknown): unknown {
  const isPlain = typeof arg === 'object' && arg !== null && !ArrayBuffer.isView(arg)
  if (!isPlain) return arg
  return Array.isArray(arg) ? [...arg] : { ...arg }
}

/**
 * When it is the turn of an answer that is not the handler's. Sent one by one as their requests come in,
 * each would wake up a client by itself, which costs more than all else about it.
 */
function dueOf({ kind }: Protected): Promise<void> | undefined {
  return kind === 'answered' ? turn() : undefined
}

/** Sends an answer by the means of Node itself. */
export function sendNode(
  response: ServerResponse,
  { status, headers, body, delivery }: CapturedResponse,
): void {
  response.statusCode = status
  const { statusMessage, isChunked = false } = delivery ?? {}
  // HTTP/2 has no messages.
  if (statusMessage !== undefined && !('stream' in response)) response.statusMessage = statusMessage
  setHeaders(response, headers)
  const isBodiless = status === 204 || status === 304
  if (!isBodiless && !isChunked) response.setHeader('Content-Length', body.byteLength)
  // Written before its body, a head goes out byte by byte as it is.
  response.writeHead(status)
  // A text goes out in one piece with its head. Whoever has put an `end` of his own before that of Node
  // may not ask which encoding it is in.
  const isText = body.byteLength <= TEXT_BYTES_MAX && response.end === ServerResponse.prototype.end
  if (isText) response.end(textOf(body), 'latin1')
  else response.end(body)
}

/** Beyond this to join head and body costs more than to send them apart. */
const TEXT_BYTES_MAX = 16_384

/** One character per byte. */
function textOf({ buffer, byteOffset, byteLength }: Uint8Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('latin1')
}

/** Node reads what is left of a body that nobody has read, but it takes us for a reader. */
function readRest(request: IncomingMessage): void {
  if (request.readableFlowing === null) request.resume()
}
