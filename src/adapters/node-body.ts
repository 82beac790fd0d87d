/**
 * Reads the body of a Node request without taking it away from whoever reads it next.
 *
 * What was read is put back in front before the stream ends, so body parsers and handlers find the
 * body as if nobody had been there. Where a parser came first, its result is compared instead: it is
 * what the handler will see.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http'
import { RepriseError } from '../core/errors.ts'
import {
  type BodyDigest,
  type BodyDigester,
  type BodyOptions,
  bodyDigest,
  digestValue,
} from '../core/fingerprint.ts'
import { invalid } from '../core/options.ts'
import { fieldIn, memberOf } from './body-field.ts'

/** What a body parser may have left. */
export interface ParsedBody {
  /** What it made of the body. */
  readonly body?: unknown
  /** The bytes, left by some. */
  readonly rawBody?: unknown
}

/** A request on which a body parser may have left its result. */
export type ParsedRequest = IncomingMessage & ParsedBody

/** The body of one request. */
export class NodeBody {
  readonly #request: IncomingMessage
  readonly #parsed: ParsedBody
  #bytes: Promise<Uint8Array> | undefined

  constructor(request: IncomingMessage, parsed: ParsedBody) {
    this.#request = request
    this.#parsed = parsed
  }

  /**
   * Digest of the body.
   *
   * @throws RepriseError `reprise-options-invalid` when it was read before and is gone
   */
  async digest(contentType: string | null, options: BodyOptions): Promise<BodyDigest> {
    const { body, rawBody } = this.#parsed
    const digester = bodyDigest(contentType, options)
    if (isBytes(rawBody)) return digested(digester, rawBody)
    if (!this.#isTaken) return digested(digester, await this.#read(options.bodyBytesMax))
    if (isBytes(body)) return digested(digester, body)
    // Parsers of uploads leave the fields alone, and two files would look the same.
    const isUpload = /^multipart\//i.test(contentType ?? '')
    if (body !== undefined && body !== null && !isUpload) return digestValue(body, options)
    throw invalid(
      'the body was read before and can not be compared: mount idempotent() before what reads it',
    )
  }

  /** A member of a form or JSON body. */
  async field(name: string, { bodyBytesMax }: BodyOptions): Promise<string | undefined> {
    const body = this.#isTaken ? this.#parsed.body : await this.#read(bodyBytesMax)
    // Parsers such as `express.raw()` leave the bytes.
    if (!isBytes(body)) return memberOf(body, name)
    const text = new TextDecoder().decode(Buffer.from(body))
    return fieldIn(text, this.#request.headers['content-type'] ?? null, name)
  }

  /** Whether somebody has read it before; some parsers leave a result without having read. */
  get #isTaken(): boolean {
    const { readableDidRead, readableEnded } = this.#request
    const { body } = this.#parsed
    const isGiven = readableEnded && body !== undefined && body !== null
    return this.#bytes === undefined && (readableDidRead || isGiven)
  }

  #read(bytesMax?: number): Promise<Uint8Array> {
    this.#bytes ??= readAndPutBack(this.#request, bytesMax)
    return this.#bytes
  }
}

/** Whether the request has been received whole, though perhaps not yet read. */
export function isComplete(request: IncomingMessage): boolean {
  // On HTTP/2 `complete` comes with the end; the stream below knows before. A request that was
  // injected in a test has no `complete`, but its stream knows whether it gets more.
  const { complete, stream, _readableState } = request as Partial<IncomingMessage> & {
    stream?: { readableEnded: boolean }
    _readableState?: { ended: boolean }
  }
  return complete === undefined
    ? _readableState?.ended === true
    : complete || stream?.readableEnded === true
}

function isBytes(body: unknown): body is Uint8Array | string {
  return body instanceof Uint8Array || typeof body === 'string'
}

function bytesOf(body: Uint8Array | string, encoding: BufferEncoding | null = null): Buffer {
  return typeof body === 'string' ? Buffer.from(body, encoding ?? 'utf8') : Buffer.from(body)
}

function digested(digester: BodyDigester, bytes: Uint8Array | string): BodyDigest {
  digester.update(bytesOf(bytes))
  return digester.digest()
}

/** Takes what there is until the message is complete, then puts all of it back before the end. */
function readAndPutBack(
  request: IncomingMessage,
  bytesMax = Number.POSITIVE_INFINITY,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let length = 0
    const stop = () => {
      request.off('readable', take).off('error', fail).off('close', cut)
    }
    const fail = (error: Error) => {
      stop()
      reject(error)
    }
    const cut = () => fail(new RepriseError('idempotency-body-invalid', 'The body was cut off'))
    const take = () => {
      // Reading an empty stream whose end has come would end it for everybody.
      while (request.readableLength > 0) {
        const chunk: unknown = request.read()
        if (!isBytes(chunk)) break
        const bytes = bytesOf(chunk, request.readableEncoding)
        chunks.push(bytes)
        length += bytes.byteLength
        if (length > bytesMax) return fail(new RepriseError('idempotency-body-too-large'))
      }
      if (!isComplete(request)) return
      stop()
      const bytes = Buffer.concat(chunks, length)
      // Still before the event that says the end, which is what makes this possible.
      if (length > 0) putBack(request, bytes)
      resolve(bytes)
    }
    request.on('readable', take).on('error', fail).on('close', cut)
    // What was left in a destroyed stream can not be read: it must not be taken for empty.
    if (request.destroyed && !request.readableEnded) cut()
    else take()
  })
}

/** In the form in which it would have come: as a text, where an encoding is set. */
function putBack(request: IncomingMessage, bytes: Buffer): void {
  const { readableEncoding: encoding } = request
  if (encoding === null) request.unshift(bytes)
  else request.unshift(bytes.toString(encoding), encoding)
}
