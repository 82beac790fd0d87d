/**
 * Protects a request of a Node framework. The decision comes first; only then does the framework go
 * on, and what it writes is held back until it is stored.
 *
 * @module
 */

import { type IncomingMessage, ServerResponse } from 'node:http'
import { isLater } from '../core/later.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { Exchange } from './exchange.ts'
import { noop } from './node-calls.ts'
import { NodeCapture } from './node-capture.ts'
import { soften } from './node-cover.ts'
import { setHeaders } from './node-head.ts'
import { type Guest, type Shelter, shelterOf } from './node-shelter.ts'
import { turn } from './node-turns.ts'
import type { CaptureOptions } from './options.ts'
import type { Guard, Protected } from './protect.ts'
import { giveRun } from './run-of.ts'
import type { HttpRun } from './watched-handler.ts'

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
export class NodeProtection<Req extends object, Tx> implements Guest {
  readonly subject: Req
  readonly response: ServerResponse
  readonly #guard: Guard<Req, Tx>
  readonly #onError: OnError | undefined
  #capture: NodeCapture | undefined
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

  /** Whether the handler was called. */
  protected get hasBegun(): boolean {
    return this.#capture !== undefined
  }

  /** The answer to the request, of which what is written to the response is one. */
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
    const result = this.#guard.protect(this.subject, exchange, (run) => this.#execute(run))
    if (isLater(result)) return this.#await(result)
    const due = dueOf(result)
    return due === undefined ? this.#conclude(result) : due.then(() => this.#conclude(result))
  }

  /** This process itself cuts the connection. */
  onCut(): void {
    this.#capture?.cut()
  }

  #await(later: PromiseLike<Protected>): Promise<Start> {
    const { response, request } = this
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

  #execute(run: HttpRun<Tx>): Promise<CapturedResponse> {
    const capture = new NodeCapture(this.response, this.#guard.captureOptions)
    this.#capture = capture
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
    this.#shelter?.leave(this)
    try {
      this.#start(this.#conclude(result))
    } catch (error) {
      return this.#fail(error)
    }
    this.onConcluded()
  }

  #fail(error: unknown): void {
    this.#shelter?.leave(this)
    // The handler has not run: whoever called us is told.
    if (this.#capture === undefined) return this.#refuse(error)
    // It has run, and the framework that called it has gone on.
    try {
      if (this.#capture.discard()) this.onError(error)
    } catch {
      this.response.destroy()
    }
    this.#start('answered')
    this.onConcluded()
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
