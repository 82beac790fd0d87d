/**
 * The fingerprint: a digest of what a request says, equal for a retry and different for any other
 * request.
 *
 * It covers method, path, query, media type, body and the version of the API; not the headers, which
 * proxies and clients change between attempts. JSON and forms are compared in canonical form, forms with
 * uploads part by part, everything else byte for byte.
 *
 * @module
 */

import { createHash, type Hash, hash } from 'node:crypto'
import { BODY_TOO_LARGE } from './error-table.ts'
import { RepriseError } from './errors.ts'
import { bytesOf, canonicalForm } from './form.ts'
import { lengthPrefixed } from './identity.ts'
import { type CanonicalOptions, canonicalJson } from './json.ts'
import { canonicalValue } from './json-value.ts'
import { boundaryOf, essenceOf, isForm, isJson } from './media-type.ts'
import { exclusionOf } from './member-path.ts'
import { MultipartForm } from './multipart.ts'
import type { OpenSecretRing } from './secret.ts'

/** Keeps these digests apart from all others, and from those of later versions. */
const TAG = 'reprise fingerprint 1\n'

const CANONICAL_BYTES_MAX = 1_048_576
/** Beyond this V8 may find no room to match a string of nothing but escapes. */
const CANONICAL_BYTES_CEILING = 16_777_216

/** How a body is compared. */
export interface BodyOptions extends CanonicalOptions {
  /**
   * Up to this size, in bytes, JSON and forms are held in memory and compared in canonical form.
   * Longer ones are compared byte for byte, and `exclude` does not apply to them. More than 16777216
   * counts as that. Forms with uploads have no such limit.
   *
   * @default 1048576
   */
  readonly canonicalBytesMax?: number
  /**
   * How a form with uploads (`multipart/form-data`) is compared, of whatever size: `'parts'` by the names,
   * file names, types and contents of its parts, so that a retry may draw another boundary; `'bytes'`
   * byte for byte.
   *
   * @default 'parts'
   */
  readonly multipart?: 'parts' | 'bytes'
  /**
   * Longer bodies, in bytes, are refused.
   *
   * @default Infinity
   */
  readonly bodyBytesMax?: number
}

/** How a request is compared. */
export interface FingerprintOptions extends BodyOptions {
  /**
   * Paths of query fields that are left out.
   *
   * @default none
   */
  readonly excludeQuery?: readonly string[]
  /**
   * Secrets that the fingerprint is keyed with, opened by `openSecretRing`.
   *
   * @default none: the fingerprint is a plain SHA-256
   */
  readonly secrets?: OpenSecretRing
}

/**
 * Digest of a body: in which form it was compared, and the SHA-256 of that form in base64url; or the
 * form itself where it is a text, because a request that is recalled by its text needs no digest.
 */
export type BodyDigest = { readonly form: 'json' | 'fields' | 'parts' | 'bytes' } & (
  | { readonly sha256: string; readonly text?: never }
  | { readonly text: string; readonly sha256?: never }
)

/** Takes in a body as it arrives. */
export interface BodyDigester {
  /** Throws `idempotency-body-too-large` as soon as the limit is passed. Keeps no hold on `chunk`. */
  update(chunk: Uint8Array): void
  /** To be called once, at the end. Throws `idempotency-body-invalid` for ambiguous JSON. */
  digest(): BodyDigest
}

/** What of a request is compared. */
export interface ComparedRequest {
  readonly method: string
  /** The path as requested, with the values of route parameters in it. */
  readonly path: string
  /** The raw query string, with or without the question mark. */
  readonly query?: string | null | undefined
  readonly contentType?: string | null | undefined
  /** The raw body or the digest of it; `null` is the same as an empty one. */
  readonly body: Uint8Array | BodyDigest | null
  /** Version of the API that the request asks for, where it has several. */
  readonly version?: string | undefined
}

/**
 * Every fingerprint that a record of this request may carry, the current one first: one per secret of
 * the ring, or a single one without secrets.
 */
export function fingerprintRequest(
  request: ComparedRequest,
  options: FingerprintOptions = {},
): readonly string[] {
  const { method, path, query, contentType, body, version } = request
  const {
    form,
    text: said = '',
    sha256 = hashOf(said),
  } = body === null || body instanceof Uint8Array
    ? digestBody(body ?? new Uint8Array(), contentType, options)
    : body
  const fields = canonicalForm(bytesOf(query ?? '').replace(/^\?/, ''), options.excludeQuery)
  const parts = [method.toUpperCase(), path, fields, essenceOf(contentType), form, sha256]
  if (version !== undefined) parts.push(version)
  const text = Buffer.from(TAG + lengthPrefixed(parts), 'utf16le')
  const digest = hash('sha256', text, 'buffer')

  const unkeyed = `1.${digest.toString('base64url')}`
  if (options.secrets === undefined) return [unkeyed]
  const keyed = options.secrets.digests(digest).map(({ id, text }) => `h.${id}.${text}`)
  return options.secrets.acceptUnkeyed ? [...keyed, unkeyed] : keyed
}

/** Digests a body that arrives in pieces. How it is cut into pieces makes no difference. */
export function bodyDigest(
  contentType: string | null | undefined,
  options: BodyOptions = {},
): BodyDigester {
  const boundary = boundaryOf(contentType)
  return boundary === undefined
    ? new StreamedBody(contentType, options)
    : new StreamedForm(boundary, options)
}

/** Digests a body that was parsed as JSON before anybody could see its bytes. */
export function digestValue(value: unknown, options: CanonicalOptions = {}): BodyDigest {
  return { form: 'json', text: canonicalValue(value, options) }
}

class StreamedBody implements BodyDigester {
  readonly #contentType: string | null | undefined
  readonly #options: BodyOptions
  /** There from the first piece that is not held: too long, or of a type that has no canonical form. */
  #hash: Hash | undefined
  #held: Uint8Array[] = []
  #isHeld: boolean
  #bytes = 0

  constructor(contentType: string | null | undefined, options: BodyOptions) {
    this.#contentType = contentType
    this.#options = options
    this.#isHeld = hasCanonicalForm(contentType)
  }

  update(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength
    refuseOver(this.#bytes, this.#options)
    if (this.#isHeld && this.#bytes <= canonicalBytesMax(this.#options)) {
      // A copy, because whoever reads from a socket may use the same memory for the next chunk.
      this.#held.push(new Uint8Array(chunk))
      return
    }
    this.#isHeld = false
    this.#hash ??= createHash('sha256')
    for (const held of this.#held) this.#hash.update(held)
    this.#held = []
    this.#hash.update(chunk)
  }

  digest(): BodyDigest {
    if (this.#hash !== undefined) return { form: 'bytes', sha256: this.#hash.digest('base64url') }
    return digestBody(Buffer.concat(this.#held), this.#contentType, this.#options)
  }
}

/** A form with uploads. */
class StreamedForm implements BodyDigester {
  readonly #options: BodyOptions
  /** Of the whole body, for one that cannot be taken apart. */
  readonly #hash = createHash('sha256')
  readonly #parts: MultipartForm | undefined
  #bytes = 0

  constructor(boundary: string, options: BodyOptions) {
    const { multipart = 'parts', exclude = [] } = options
    this.#options = options
    // The same bytes say something else where the boundary is another.
    this.#hash.update(lengthPrefixed([boundary]))
    if (multipart === 'parts') {
      this.#parts = new MultipartForm(boundary, exclusionOf(exclude.map(bytesOf)))
    }
  }

  update(chunk: Uint8Array): void {
    this.#bytes += chunk.byteLength
    refuseOver(this.#bytes, this.#options)
    this.#hash.update(chunk)
    this.#parts?.update(chunk)
  }

  digest(): BodyDigest {
    const text = this.#parts?.canonical()
    if (text !== undefined) return { form: 'parts', text }
    return { form: 'bytes', sha256: this.#hash.digest('base64url') }
  }
}

function digestBody(
  body: Uint8Array,
  contentType: string | null | undefined,
  options: BodyOptions,
): BodyDigest {
  if (boundaryOf(contentType) !== undefined) {
    const digester = bodyDigest(contentType, options)
    digester.update(body)
    return digester.digest()
  }
  refuseOver(body.byteLength, options)
  const isSmall = body.byteLength <= canonicalBytesMax(options)
  const essence = essenceOf(contentType)
  if (isSmall && isForm(essence)) {
    const encoded = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('latin1')
    return { form: 'fields', text: canonicalForm(encoded, options.exclude) }
  }
  const json = isSmall && isJson(essence) ? jsonOf(body, options) : undefined
  if (json !== undefined) return { form: 'json', text: json }
  return { form: 'bytes', sha256: hashOf(body) }
}

function hashOf(data: string | Uint8Array): string {
  return hash('sha256', data, 'base64url')
}

/** Canonical text of a body; `undefined` if it is not JSON, whatever its media type says. */
function jsonOf(body: Uint8Array, options: BodyOptions): string | undefined {
  const text = decodeUtf8(body)
  return text === undefined ? undefined : canonicalJson(text, options)
}

/** Keeps a byte order mark, which JSON does not allow. */
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

function decodeUtf8(bytes: Uint8Array): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

function hasCanonicalForm(contentType: string | null | undefined): boolean {
  const essence = essenceOf(contentType)
  return isJson(essence) || isForm(essence)
}

function canonicalBytesMax(options: BodyOptions): number {
  return Math.min(options.canonicalBytesMax ?? CANONICAL_BYTES_MAX, CANONICAL_BYTES_CEILING)
}

/**
 * Refuses a body of so many bytes, if that is too many.
 *
 * @throws RepriseError `idempotency-body-too-large`
 */
export function refuseOver(
  bytes: number,
  { bodyBytesMax = Number.POSITIVE_INFINITY }: BodyOptions,
): void {
  if (bytes <= bodyBytesMax) return
  throw new RepriseError(BODY_TOO_LARGE, `The body has over ${bodyBytesMax} bytes`)
}
