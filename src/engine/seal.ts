/**
 * Seals what a store keeps: a response becomes one opaque run of bytes, compressed above a threshold
 * and encrypted where the app says so. Stores never look inside, so this is done and proved once for
 * all of them.
 *
 * ```
 * sealed   = version(1) flags(1) payload
 * payload  = content, compressed with brotli if flag 1, then encrypted if flag 2
 * response = head body
 * head     = JSON newline      JSON = [headers, bytes of an omitted body, delivery], which has no newline;
 *                              the delivery is left out where it is the usual one
 *          | number(1)         of one of the heads that most answers have; less than a bracket
 * ```
 *
 * @module
 */

import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { SEAL_BROKEN } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { isLater } from '../core/later.ts'
import type { ResolvedRunOptions } from '../core/options.ts'
import type { SealedResponse } from '../core/record.ts'
import {
  BODY_FORMS,
  type CapturedResponse,
  type Delivery,
  type Header,
  keptHeaders,
} from '../core/response.ts'

/** Which options say how answers are kept. */
export type SealOptions = Pick<
  ResolvedRunOptions,
  'headers' | 'bodyBytesMax' | 'compressBytesMin' | 'encryption'
>

/** Which record, and which part of it, the bytes belong to; encryption binds them to it. */
export interface SealPlace {
  readonly id: string
  readonly part: 'input' | 'state' | `response ${number}`
}

/** A response read back. */
export interface OpenedResponse extends CapturedResponse {
  /** Bytes of the body that was not kept, as far as known; `null` when the body is all here. */
  readonly bodyBytesOmitted: OmittedBytes
}

/** How much was left out of a stored response: nothing, so many bytes, or a stream of any length. */
export type OmittedBytes = number | 'unknown' | null

const VERSION = 2
const COMPRESSED = 1
const ENCRYPTED = 2

/**
 * What most answers have for a head, in the spelling of each framework: 60 bytes less a record. Their
 * places are stored, so more can be put after them, and none between.
 */
const USUAL: readonly string[] = [
  'Content-Type,application/json; charset=utf-8',
  'content-type,application/json; charset=utf-8',
  'content-type,application/json',
]

/** Each by its place. */
const USUAL_HEADS: readonly Uint8Array[] = USUAL.map((_, number) => Uint8Array.of(number))

const BRACKET = 91
const NEWLINE = 10

/** Quality 4 is where brotli still costs about as little as gzip and already packs better. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

/**
 * What unpacks to more than 128 MiB was made to fill the memory, because nothing larger is packed here. It is also the
 * most that Cloudflare's workerd accepts as a limit: it refuses to unpack anything under a higher one.
 */
const UNPACKED_BYTES_MAX = 0x0800_0000

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

/** What of a response is kept: the same that is read back once it was sealed. */
export function keptOf(
  { headers, bodyBytesMax }: Pick<SealOptions, 'headers' | 'bodyBytesMax'>,
  response: CapturedResponse,
): OpenedResponse {
  const { status, body, delivery } = response
  const bodyBytesOmitted = omittedBytes(response, bodyBytesMax)
  return {
    status,
    bodyBytesOmitted,
    delivery,
    headers: keptHeaders(response.headers, headers),
    body: bodyBytesOmitted === null ? body : new Uint8Array(),
  }
}

/** How much of a response is not kept. */
export function omittedBytes(
  { body, bodyIsStream }: CapturedResponse,
  bodyBytesMax: number,
): OmittedBytes {
  if (bodyIsStream === true) return 'unknown'
  return body.byteLength <= bodyBytesMax ? null : body.byteLength
}

/** Seals what is kept of a response, for the record `id`; at once unless it is to be packed. */
export function sealResponse(
  options: SealOptions,
  id: string,
  response: CapturedResponse,
): SealedResponse | Promise<SealedResponse> {
  const { status, headers, body, bodyBytesOmitted, delivery } = keptOf(options, response)
  const [header, ...more] = headers
  const isUsual = more.length === 0 && bodyBytesOmitted === null && delivery === undefined
  // Each of them has one comma: no other header reads the same.
  const number = isUsual ? USUAL.indexOf(String(header)) : -1
  const parts =
    delivery === undefined ? [headers, bodyBytesOmitted] : [headers, bodyBytesOmitted, delivery]
  const head = USUAL_HEADS[number] ?? Buffer.from(`${JSON.stringify(parts)}\n`)
  const sealed = seal(options, { id, part: `response ${status}` }, head, body)
  return isLater(sealed) ? sealed.then((later) => ({ status, sealed: later })) : { status, sealed }
}

/**
 * Opens what {@link sealResponse} made.
 *
 * @throws RepriseError `reprise-seal-broken`
 */
export async function openResponse(
  options: Pick<SealOptions, 'encryption'>,
  id: string,
  { status, sealed }: SealedResponse,
): Promise<OpenedResponse> {
  return responseOf(status, await open(options, { id, part: `response ${status}` }, sealed))
}

/**
 * The same at once, for what is neither compressed nor encrypted; `undefined` for all else.
 *
 * @throws RepriseError `reprise-seal-broken`
 */
export function openPlain({ status, sealed }: SealedResponse): OpenedResponse | undefined {
  return sealed[0] === VERSION && sealed[1] === 0 ? responseOf(status, plainOf(sealed)) : undefined
}

function plainOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset + PLAIN.length, byteLength - PLAIN.length)
}

function responseOf(status: number, content: Buffer): OpenedResponse {
  const first = content[0] ?? -1
  const bodyAt = first === BRACKET ? content.indexOf(NEWLINE) + 1 : 1
  const usual = USUAL[first]
  if (usual !== undefined) {
    const headers: Header[] = [usualHeader(usual)]
    const body = content.subarray(bodyAt)
    return { status, headers, body, bodyBytesOmitted: null, delivery: undefined }
  }
  // A number that is not known is no JSON, or at least no list.
  const head = parseSealed(content.toString('utf8', 0, bodyAt))
  const [headers, bodyBytesOmitted, delivery]: readonly unknown[] = Array.isArray(head) ? head : []
  if (!isHeaders(headers) || !isOmitted(bodyBytesOmitted) || !isDelivery(delivery)) {
    throw broken('Its head is no head')
  }
  return { status, headers, body: content.subarray(bodyAt), bodyBytesOmitted, delivery }
}

function usualHeader(usual: string): Header {
  const comma = usual.indexOf(',')
  return [usual.slice(0, comma), usual.slice(comma + 1)]
}

/**
 * The value of JSON that was sealed.
 *
 * @throws RepriseError `reprise-seal-broken`
 */
export function parseSealed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw broken('It is no JSON', cause)
  }
}

function isHeaders(value: unknown): value is Header[] {
  const isText = (one: unknown) => typeof one === 'string'
  const isHeader = (one: unknown) => Array.isArray(one) && one.length === 2 && one.every(isText)
  return Array.isArray(value) && value.every(isHeader)
}

function isOmitted(value: unknown): value is OmittedBytes {
  return value === null || value === 'unknown' || typeof value === 'number'
}

function isDelivery(value: unknown): value is Delivery | undefined {
  if (value === undefined) return true
  if (typeof value !== 'object' || value === null) return false
  const { statusMessage = '', bodyForm = 'bytes', ...flags }: Loose<Delivery> = value
  const isForm = BODY_FORMS.some((form) => form === bodyForm)
  const { isChunked = true, hasLength = true } = flags
  return typeof statusMessage === 'string' && isForm && isChunked === true && hasLength === true
}

/** What was read from bytes and is to be checked. */
type Loose<T> = { readonly [Name in keyof T]?: unknown }

/** Seals any bytes, which may be in parts; at once unless they are to be packed. */
export function seal(
  { compressBytesMin, encryption }: Pick<SealOptions, 'compressBytesMin' | 'encryption'>,
  place: SealPlace,
  ...parts: readonly Uint8Array[]
): Uint8Array | Promise<Uint8Array> {
  const bytes = parts.reduce((sum, { byteLength }) => sum + byteLength, 0)
  const isPacked =
    compressBytesMin !== false && bytes >= compressBytesMin && bytes <= UNPACKED_BYTES_MAX
  // What most answers are.
  if (!isPacked && encryption === undefined) return Buffer.concat([PLAIN, ...parts], 2 + bytes)
  const content = Buffer.concat(parts, bytes)
  return isPacked
    ? compress(content, BROTLI).then((packed) => wrap(encryption, place, { content, packed }))
    : wrap(encryption, place, { content, packed: content })
}

/** What comes before content that is neither compressed nor encrypted. */
const PLAIN = Uint8Array.of(VERSION, 0)

function wrap(
  encryption: SealOptions['encryption'],
  place: SealPlace,
  { content, packed }: { content: Uint8Array; packed: Uint8Array },
): Uint8Array {
  const isPacked = packed.byteLength < content.byteLength
  const payload = isPacked ? packed : content
  const flags = (isPacked ? COMPRESSED : 0) | (encryption === undefined ? 0 : ENCRYPTED)
  const encrypted = encryption?.encrypt(payload, bound(place, flags)) ?? payload
  return Buffer.concat([Uint8Array.of(VERSION, flags), encrypted])
}

/**
 * Opens what {@link seal} made.
 *
 * @throws RepriseError `reprise-seal-broken`
 */
export async function open(
  { encryption }: Pick<SealOptions, 'encryption'>,
  place: SealPlace,
  sealed: Uint8Array,
): Promise<Buffer> {
  const [version, flags = 0] = sealed
  const isEncrypted = (flags & ENCRYPTED) !== 0
  if (version !== VERSION) throw broken(`Format ${version} is not known here`)
  if (isEncrypted && encryption === undefined) throw broken('It is encrypted, and no key is given')

  const payload = sealed.subarray(2)
  const bytes =
    isEncrypted && encryption ? encryption.decrypt(payload, bound(place, flags)) : payload
  const unpacked = (flags & COMPRESSED) === 0 ? bytes : await unpack(bytes)
  return Buffer.from(unpacked.buffer, unpacked.byteOffset, unpacked.byteLength)
}

async function unpack(bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await decompress(bytes, { maxOutputLength: UNPACKED_BYTES_MAX })
  } catch (cause) {
    throw broken('It does not unpack', cause)
  }
}

/** What a ciphertext is bound to: moved to another record, part or status, it does not open. */
function bound({ id, part }: SealPlace, flags: number): Uint8Array {
  return Buffer.from(JSON.stringify(['reprise', VERSION, flags, id, part]))
}

/** The error for what can not be read back. */
export function broken(detail: string, cause?: unknown): RepriseError {
  return new RepriseError(SEAL_BROKEN, detail, { cause })
}
