/**
 * Content codings of replays. An answer that was compressed for the client of the first request is
 * decoded for a client that does not take that coding.
 *
 * Only codings that were negotiated are touched: those of answers whose `Vary` names `Accept-Encoding`. A
 * handler that always sends a file in gzip sends it in gzip again.
 *
 * @module
 */

import * as zlib from 'node:zlib'
import type { CapturedResponse, Header } from '../core/response.ts'

/** What unpacks to more than 128 MiB is replayed as it is. */
const UNPACKED_BYTES_MAX = 0x0800_0000

type Options = { readonly maxOutputLength: number }
type Done = (error: Error | null, result: Buffer) => void
type Decoder = (bytes: Uint8Array, options: Options, done: Done) => void

/** Codings that can be decoded, by name. */
const DECODERS: ReadonlyMap<string, Decoder> = new Map<string, Decoder>([
  ['gzip', zlib.gunzip],
  ['deflate', zlib.inflate],
  ['br', zlib.brotliDecompress],
])

/** Say something about the coded bytes, which a decoded answer does not have. */
const OF_CODED_BYTES: ReadonlySet<string> = new Set([
  ...['content-encoding', 'content-md5', 'content-digest', 'repr-digest', 'digest'],
])

/**
 * The answer in a coding that a client takes: the same, or decoded. What can not be decoded stays as it
 * is.
 *
 * @param accepted - the client's `Accept-Encoding`; without one it takes no coding, as compressing
 * middleware understands it
 */
export function inAcceptedCoding<Answer extends CapturedResponse>(
  answer: Answer,
  accepted: () => string,
): Answer | Promise<Answer> {
  const coded = listIn(answer.headers, 'content-encoding')
  if (coded.length === 0 || answer.body.byteLength === 0) return answer
  if (!listIn(answer.headers, 'vary').some((name) => name === 'accept-encoding' || name === '*')) {
    return answer
  }
  const codings = coded.map(canonical)
  const accepts = accepted().toLowerCase()
  if (codings.every((coding) => isAccepted(coding, accepts))) return answer
  return decoded(answer, codings)
}

async function decoded<Answer extends CapturedResponse>(
  answer: Answer,
  codings: readonly string[],
): Promise<Answer> {
  let body = answer.body
  try {
    for (const coding of codings.toReversed()) body = await decode(body, coding)
  } catch {
    return answer
  }
  const headers = answer.headers.filter(([name]) => !OF_CODED_BYTES.has(name.toLowerCase()))
  return { ...answer, headers: headers.map(weakened), body, delivery: withLength(answer) }
}

function decode(bytes: Uint8Array, coding: string): Promise<Uint8Array> {
  const decoder = DECODERS.get(coding)
  if (decoder === undefined) throw new TypeError(`${coding} is not known`)
  return new Promise((resolve, reject) => {
    decoder(bytes, { maxOutputLength: UNPACKED_BYTES_MAX }, (error, result) => {
      if (error === null) resolve(result)
      else reject(error)
    })
  })
}

/** A strong tag names the coded bytes; a weak one the answer, in whatever coding. */
function weakened(header: Header): Header {
  const [name, value] = header
  return name.toLowerCase() === 'etag' && value.startsWith('"') ? [name, `W/${value}`] : header
}

/** Compressed answers go out in chunks; this one has a length. */
function withLength({ delivery }: CapturedResponse): CapturedResponse['delivery'] {
  if (delivery === undefined) return undefined
  const { isChunked: _, ...rest } = delivery
  return rest
}

/** The members of a header that is a list, in lower case. */
function listIn(headers: readonly Header[], name: string): readonly string[] {
  return headers
    .filter(([written]) => written.length === name.length && written.toLowerCase() === name)
    .flatMap(([, value]) => value.toLowerCase().split(','))
    .map((member) => member.trim())
    .filter((member) => member !== '' && member !== 'identity')
}

function canonical(coding: string): string {
  return coding === 'x-gzip' ? 'gzip' : coding
}

/** Whether `Accept-Encoding` allows a coding; what it names counts before `*`. */
function isAccepted(coding: string, accepts: string): boolean {
  const members = accepts.split(',').map((member) => member.split(';').map((part) => part.trim()))
  const named = members.find(([name = '']) => canonical(name) === coding)
  const [, ...parameters] = named ?? members.find(([name]) => name === '*') ?? ['', 'q=0']
  return !parameters.some((parameter) => /^q\s*=\s*0(?:\.0*)?$/.test(parameter))
}
