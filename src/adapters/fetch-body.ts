/**
 * Reads the body of a `Request` without taking it away from whoever reads it next.
 *
 * A copy of the stream is read, piece by piece; the pieces wait in the request itself for the
 * handler. So the body is in memory once, however large, and the request stays the object it was.
 *
 * @module
 */

import { BODY_INVALID } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { type BodyDigest, type BodyOptions, bodyDigest, refuseOver } from '../core/fingerprint.ts'
import { invalid } from '../core/options.ts'

/** A body: a fresh stream each time, or all of it, or `null` where there is none. */
type Body = ReadableStream<Uint8Array> | Uint8Array | null

/** Opens a body to read. */
export type OpenBody = () => Body | Promise<Body>

/**
 * A copy of the body of a request.
 *
 * @throws RepriseError `reprise-options-invalid` when the body is gone
 */
export function copyOfBody(request: Request): ReadableStream<Uint8Array> | null {
  if (request.bodyUsed || request.body?.locked === true) {
    throw invalid(
      'the body was read before the route is protected: protect it first, or read request.clone()',
    )
  }
  return request.body && request.clone().body
}

/** Digest of a body, taken while it arrives. */
export async function digestOf(
  open: OpenBody,
  contentType: string | null,
  options: BodyOptions,
): Promise<BodyDigest> {
  const digester = bodyDigest(contentType, options)
  await readAll(await open(), (chunk) => digester.update(chunk))
  return digester.digest()
}

/** The body as text. */
export async function textOf(open: OpenBody, options: BodyOptions): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  await readAll(await open(), (chunk) => {
    length += chunk.byteLength
    refuseOver(length, options)
    chunks.push(chunk)
  })
  return Buffer.concat(chunks).toString()
}

async function readAll(body: Body, take: (chunk: Uint8Array) => void): Promise<void> {
  if (body === null) return
  if (body instanceof Uint8Array) return take(body)
  const reader = body.getReader()
  const cut = (cause: unknown): never => {
    throw new RepriseError(BODY_INVALID, 'The body was cut off', { cause })
  }
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(cut)
      if (done) return
      take(value)
    }
  } catch (error) {
    // Not awaited: a copy counts as cancelled only when the original is cancelled too.
    reader.cancel(error).catch(() => undefined)
    throw error
  }
}

/** What an object has by symbols: servers keep there what their requests and responses are made of. */
export function hiddenIn(object: object): readonly unknown[] {
  return Object.getOwnPropertySymbols(object).map((name): unknown => Reflect.get(object, name))
}
