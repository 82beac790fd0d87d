/**
 * Seals what a store keeps: response, input and state become one opaque run of bytes, compressed
 * above a threshold and encrypted where a key ring is given. Stores never look inside, so this is
 * done and proved once for all of them.
 *
 * ```
 * sealed   = version(1) flags(1) [ keyIdLength(1) keyId iv(12) tag(16) ] payload
 * payload  = content, compressed with brotli if flag 1, encrypted with AES-256-GCM if flag 2
 * response = headLength(4) head body          head = JSON [headers, bytes of an omitted body]
 * ```
 *
 * @module
 */

import { createCipheriv, createDecipheriv } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, brotliDecompress, constants } from 'node:zlib'
import { RepriseError } from '../core/errors.ts'
import type { EncryptionKeys } from '../core/options.ts'
import type { SealedResponse } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import type { Random } from './clock.ts'

/** Which record, and which part of it, the bytes belong to; bound to them by encryption. */
export interface SealContext {
  readonly id: string
  readonly part: 'input' | 'state' | `response ${number}`
}

/** Settings of a sealer. */
export interface SealOptions {
  /** Content from this many bytes on is compressed; `false` never. */
  readonly compressBytesMin: number | false
  /** A body of more bytes is not kept; status, headers and a marker are. */
  readonly bodyBytesMax: number
  readonly encryption: EncryptionKeys | undefined
  readonly random: Pick<Random, 'bytes'>
}

/** A response read back. */
export interface OpenedResponse extends CapturedResponse {
  /** Bytes of the body that was not kept, as far as known; `null` when the body is all here. */
  readonly bodyBytesOmitted: OmittedBytes
}

/** How much was left out of a stored response: nothing, so many bytes, or a stream of any length. */
export type OmittedBytes = number | 'unknown' | null

/** What of a response's body is not kept. */
export function omittedBytes(response: CapturedResponse, bodyBytesMax: number): OmittedBytes {
  if (response.bodyIsStream === true) return 'unknown'
  return response.body.byteLength > bodyBytesMax ? response.body.byteLength : null
}

const VERSION = 1
const COMPRESSED = 1
const ENCRYPTED = 2
const IV_BYTES = 12
const TAG_BYTES = 16
/** Quality 4 is where brotli still costs about as little as gzip and already packs better. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }

const compress = promisify(brotliCompress)
const decompress = promisify(brotliDecompress)

/** Seals and opens. */
export class Sealer {
  readonly #options: SealOptions

  constructor(options: SealOptions) {
    this.#options = options
  }

  /** Seals a response for the record `id`. */
  async sealResponse(id: string, response: CapturedResponse): Promise<SealedResponse> {
    const { status, headers, body } = response
    const omitted = omittedBytes(response, this.#options.bodyBytesMax)
    const head = Buffer.from(JSON.stringify([headers, omitted]))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(head.byteLength)
    const content = Buffer.concat([length, head, omitted === null ? body : new Uint8Array()])
    const sealed = await this.seal({ id, part: `response ${status}` }, content)
    return { status, sealed }
  }

  /** Opens what {@link sealResponse} made. */
  async openResponse(id: string, response: SealedResponse): Promise<OpenedResponse> {
    const { status, sealed } = response
    const content = Buffer.from(await this.open({ id, part: `response ${status}` }, sealed))
    const bodyAt = 4 + content.readUInt32BE(0)
    // The bytes were framed by sealResponse, and GCM or the database vouches for them.
    const [headers, bodyBytesOmitted] = JSON.parse(content.toString('utf8', 4, bodyAt)) as [
      [string, string][],
      OmittedBytes,
    ]
    return { status, headers, body: content.subarray(bodyAt), bodyBytesOmitted }
  }

  /** Seals any bytes. */
  async seal(context: SealContext, content: Uint8Array): Promise<Uint8Array> {
    const { compressBytesMin, encryption } = this.#options
    const isLarge = compressBytesMin !== false && content.byteLength >= compressBytesMin
    const packed = isLarge ? await compress(content, BROTLI) : content
    const isPacked = packed.byteLength < content.byteLength
    const payload = isPacked ? packed : content
    const flags = (isPacked ? COMPRESSED : 0) | (encryption === undefined ? 0 : ENCRYPTED)
    const prefix = Uint8Array.of(VERSION, flags)
    if (encryption === undefined) return Buffer.concat([prefix, payload])
    return Buffer.concat([prefix, ...this.#encrypt(encryption, { context, flags, payload })])
  }

  /** Opens what {@link seal} made. */
  async open(context: SealContext, sealed: Uint8Array): Promise<Uint8Array> {
    const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
    const [version, flags = 0] = bytes
    if (version !== VERSION) {
      throw new RepriseError('reprise-seal-broken', `Format ${version} is not known here`)
    }
    const isEncrypted = (flags & ENCRYPTED) !== 0
    const payload = isEncrypted ? this.#decrypt(context, bytes) : bytes.subarray(2)
    return (flags & COMPRESSED) !== 0 ? decompress(payload) : payload
  }

  #encrypt(
    { current, keys }: EncryptionKeys,
    { context, flags, payload }: { context: SealContext; flags: number; payload: Uint8Array },
  ): Uint8Array[] {
    const key = keys[current]
    if (key === undefined) throw missingKey(current)
    const iv = this.#options.random.bytes(IV_BYTES)
    const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(associated(context, flags))
    const encrypted = Buffer.concat([cipher.update(payload), cipher.final()])
    const keyId = Buffer.from(current)
    return [Uint8Array.of(keyId.byteLength), keyId, iv, cipher.getAuthTag(), encrypted]
  }

  #decrypt(context: SealContext, bytes: Buffer): Uint8Array {
    const ivAt = 3 + (bytes[2] ?? 0)
    const keyId = bytes.toString('utf8', 3, ivAt)
    const key = this.#options.encryption?.keys[keyId]
    if (key === undefined) throw missingKey(keyId)

    const tagAt = ivAt + IV_BYTES
    const payloadAt = tagAt + TAG_BYTES
    try {
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(ivAt, tagAt))
      decipher.setAAD(associated(context, bytes[1] ?? 0))
      decipher.setAuthTag(bytes.subarray(tagAt, payloadAt))
      return Buffer.concat([decipher.update(bytes.subarray(payloadAt)), decipher.final()])
    } catch (cause) {
      const detail = `Key ${keyId} does not open what is stored: it was changed, moved or damaged`
      throw new RepriseError('reprise-seal-broken', detail, { cause })
    }
  }
}

/** What the ciphertext is bound to: moved to another record, part or status, it does not open. */
function associated({ id, part }: SealContext, flags: number): Buffer {
  return Buffer.from(JSON.stringify(['reprise', VERSION, flags, id, part]))
}

function missingKey(keyId: string): RepriseError {
  return new RepriseError(
    'reprise-seal-broken',
    `Encryption key ${JSON.stringify(keyId)} is missing`,
  )
}
