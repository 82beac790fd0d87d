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
import type { ReadBody } from '../core/body-value.ts'
import { BODY_INVALID } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import {
  type BodyDigest,
  type BodyDigester,
  type BodyOptions,
  bodyDigest,
  digestValue,
  refuseOver,
} from '../core/fingerprint.ts'
import { invalid } from '../core/options.ts'

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
  #isRead = false
  /** What was read for those who look into it, until it is digested. */
  #kept: readonly Uint8Array[] | undefined

  constructor(request: IncomingMessage, parsed: ParsedBody) {
    this.#request = request
    this.#parsed = parsed
  }

  /**
   * Digest of the body.
   *
   * @throws RepriseError `reprise-options-invalid` when it was read before and is gone,
   *   `idempotency-body-invalid` when the client went away before all of it had come
   */
  digest(contentType: string | null, options: BodyOptions): BodyDigest | Promise<BodyDigest> {
    const { body, rawBody } = this.#parsed
    // A parser may have taken what there was for all of it.
    if (isCutOff(this.#request)) throw cutOff()
    if (isBytes(rawBody)) return digested(bodyDigest(contentType, options), rawBody)
    if (!this.#isTaken) return this.#readDigest(bodyDigest(contentType, options))
    if (isBytes(body)) return digested(bodyDigest(contentType, options), body)
    // Parsers of uploads leave the fields alone, and two files would look the same.
    const isUpload = /^multipart\//i.test(contentType ?? '')
    if (body !== undefined && body !== null && !isUpload) return digestValue(body, options)
    throw gone('compared')
  }

  /**
   * The body, for those who look into it.
   *
   * @throws RepriseError `reprise-options-invalid` when it was read before and is gone,
   *   `idempotency-body-invalid` when the client went away before all of it had come
   */
  async read(options: BodyOptions): Promise<ReadBody> {
    const { body, rawBody } = this.#parsed
    if (isCutOff(this.#request)) throw cutOff()
    if (!this.#isTaken) return this.#text(Buffer.concat(await this.#keep(options)))
    // Parsers such as `express.raw()` leave the bytes.
    if (isBytes(body)) return this.#text(bytesOf(body))
    if (body !== undefined && body !== null) return { parsed: body }
    if (isBytes(rawBody)) return this.#text(bytesOf(rawBody))
    throw gone('looked into')
  }

  async #readDigest(digester: BodyDigester): Promise<BodyDigest> {
    await this.#read((bytes) => digester.update(bytes))
    this.#kept = undefined
    return digester.digest()
  }

  #text(bytes: Uint8Array): ReadBody {
    const { 'content-type': contentType = null } = this.#request.headers
    return { text: new TextDecoder().decode(bytes), contentType }
  }

  /** Whether somebody has read it before; some parsers leave a result without having read. */
  get #isTaken(): boolean {
    const { readableDidRead, readableEnded } = this.#request
    const { body } = this.#parsed
    const isGiven = readableEnded && body !== undefined && body !== null
    return !this.#isRead && (readableDidRead || isGiven)
  }

  /** Reads all of it, and keeps it in hand. */
  async #keep(options: BodyOptions): Promise<readonly Uint8Array[]> {
    const chunks: Uint8Array[] = []
    let length = 0
    await this.#read((bytes) => {
      length += bytes.byteLength
      refuseOver(length, options)
      chunks.push(bytes)
    })
    this.#kept = chunks
    return chunks
  }

  /** Hands it over piece by piece: what was kept, or else as it comes. */
  async #read(take: (bytes: Uint8Array) => void): Promise<void> {
    if (this.#kept !== undefined) return this.#kept.forEach(take)
    this.#isRead = true
    await readAndPutBack(this.#request, take)
  }
}

function gone(what: string): RepriseError {
  return invalid(
    `the body was read before and can not be ${what}: mount idempotent() before what reads it`,
  )
}

/** What is used of the stream below a request of HTTP/2. */
interface BodyStream {
  readonly readableEnded: boolean
  readonly aborted: boolean
}

/** Streams of HTTP/2 whose end was seen before their client cancelled them. */
const wholeStreams = new WeakSet<BodyStream>()

/** Whether the request has been received whole, though perhaps not yet read. */
export function isComplete(request: IncomingMessage): boolean {
  // A request of HTTP/2 has a stream. One that was injected in a test has no `complete`, but its state
  // says whether it gets more.
  const { complete, stream, _readableState } = request as Partial<IncomingMessage> & {
    stream?: BodyStream
    _readableState?: { ended: boolean }
  }
  if (complete === undefined) return _readableState?.ended === true
  return stream === undefined ? complete : isWholeStream(stream)
}

/**
 * Whether the end of a stream's body has come. Node ends a stream that its client cancels as well, and
 * then calls the request complete, however much of the body is missing.
 */
function isWholeStream(stream: BodyStream): boolean {
  if (wholeStreams.has(stream)) return true
  if (!stream.readableEnded || stream.aborted) return false
  wholeStreams.add(stream)
  return true
}

/** Whether the client went away before the request was received whole. */
function isCutOff(request: IncomingMessage): boolean {
  // A request of HTTP/2 has a stream, and is itself not destroyed with it.
  const { stream, destroyed } = request as IncomingMessage & { stream?: BodyStream }
  return (stream?.aborted ?? destroyed) && !isComplete(request)
}

function cutOff(cause?: unknown): RepriseError {
  return new RepriseError(BODY_INVALID, 'The body was cut off', { cause })
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

/**
 * Takes what there is until the message is complete, then puts all of it back before the end. The
 * pieces go back as they came: they are never joined, so that the body is in memory once.
 *
 * @param take - sees each piece as it comes; what it throws ends the reading
 */
function readAndPutBack(
  request: IncomingMessage,
  take: (bytes: Uint8Array) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const chunks: (Uint8Array | string)[] = []
    const stop = () => {
      request.off('readable', look).off('error', cut).off('close', cut)
    }
    const fail = (error: Error) => {
      stop()
      reject(error)
    }
    // Also where its framing is broken: that is the client's doing, and no failure of the server.
    const cut = (cause?: unknown) => fail(cutOff(cause))
    const read = () => {
      // Reading an empty stream whose end has come would end it for everybody.
      while (request.readableLength > 0) {
        const chunk: unknown = request.read()
        if (!isBytes(chunk)) break
        chunks.push(chunk)
        take(bytesOf(chunk, request.readableEncoding))
      }
      if (!isComplete(request)) return
      stop()
      // Still before the event that says the end, which is what makes this possible.
      for (const chunk of chunks.reverse()) putBack(request, chunk)
      resolve()
    }
    const look = () => {
      try {
        read()
      } catch (error) {
        fail(error instanceof Error ? error : new Error(String(error)))
      }
    }
    request.on('readable', look).on('error', cut).on('close', cut)
    // What was left in a destroyed stream can not be read: it must not be taken for empty.
    if (request.destroyed && !request.readableEnded) cut()
    else look()
  })
}

/** In the form in which it came: as a text, where an encoding is set. */
function putBack(request: IncomingMessage, chunk: Uint8Array | string): void {
  const { readableEncoding: encoding } = request
  if (encoding === null) request.unshift(chunk)
  else request.unshift(chunk, encoding)
}
