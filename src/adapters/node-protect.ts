/**
 * Protects a request of a Node framework. The decision comes first; only then does the framework go
 * on, and what it writes is held back until it is stored.
 *
 * @module
 */

import { type IncomingMessage, ServerResponse } from 'node:http'
import type { CapturedResponse } from '../core/response.ts'
import type { Exchange } from './exchange.ts'
import { NodeCapture } from './node-capture.ts'
import { soften } from './node-cover.ts'
import { setHeaders } from './node-head.ts'
import { shelter } from './node-shelter.ts'
import { turn } from './node-turns.ts'
import type { Guard, Protected } from './protect.ts'
import type { HttpRun } from './watched-handler.ts'

/** What the adapter gives of its framework. */
export interface NodeParts<Req, Tx> {
  readonly guard: Guard<Req, Tx>
  readonly request: Req
  readonly response: ServerResponse
  readonly exchange: Exchange
  /** Sends an answer that is not the handler's. */
  readonly send: (response: CapturedResponse) => void
  /** Gives the handler its side of the run. */
  readonly begin: (run: HttpRun<Tx>) => void
  /** An error that came when the handler had already answered. */
  readonly onError: (error: unknown) => void
}

/**
 * Resolves as soon as it is known what is to happen: `proceed`, and the framework goes on to the
 * handler; `answered`, and it is done.
 *
 * @throws what stands in the way before the handler runs
 */
export function protectNode<Req, Tx>(parts: NodeParts<Req, Tx>): Promise<'proceed' | 'answered'> {
  const { guard, request, response, exchange } = parts
  if (Object.getPrototypeOf(response) !== ServerResponse.prototype) soften(response, 'req')
  const leave = shelter(response.req, () => capture?.cut())
  // What a parser has read is read.
  if (!response.req.readableEnded) response.once('close', () => readRest(response.req))
  let capture: NodeCapture | undefined
  const failed = (error: unknown): 'answered' => {
    leave()
    // The handler has not run: whoever called us is told.
    if (capture === undefined) throw error
    return fail(parts, { error, capture })
  }
  const concluded = async (result: Protected): Promise<'proceed' | 'answered'> => {
    const due = result.kind === 'answered' ? turn() : undefined
    if (due !== undefined) await due
    leave()
    try {
      return conclude(parts, { result, capture })
    } catch (error) {
      return failed(error)
    }
  }
  return new Promise((resolve, reject) => {
    const execute = (run: HttpRun<Tx>): Promise<CapturedResponse> => {
      capture = new NodeCapture(response, guard.captureOptions)
      parts.begin(run)
      resolve('proceed')
      return capture.captured
    }
    guard.protect(request, exchange, execute).then(concluded, failed).then(resolve, reject)
  })
}

/** The handler has run, and the framework that called it has gone on. */
function fail<Req, Tx>(
  { response, onError }: NodeParts<Req, Tx>,
  { error, capture }: { error: unknown; capture: NodeCapture },
): 'answered' {
  try {
    if (capture.discard()) onError(error)
  } catch {
    response.destroy()
  }
  return 'answered'
}

/** Sends what is to be sent. */
function conclude<Req, Tx>(
  { response, send }: NodeParts<Req, Tx>,
  { result, capture }: { result: Protected; capture: NodeCapture | undefined },
): 'proceed' | 'answered' {
  switch (result.kind) {
    case 'bypassed':
      setHeaders(response, result.marks)
      return 'proceed'
    case 'executed':
      capture?.release(result.marks)
      return 'answered'
    case 'answered':
      if (capture?.discard() ?? true) send(result.response)
      return 'answered'
  }
}

/** Sends an answer by the means of Node itself. */
export function sendNode(
  response: ServerResponse,
  { status, headers, body }: CapturedResponse,
): void {
  response.statusCode = status
  setHeaders(response, headers)
  const isBodiless = status === 204 || status === 304
  if (!isBodiless) response.setHeader('Content-Length', body.byteLength)
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
