/**
 * Short texts in few bytes. Digests, tokens and UUIDs make up most of what a record holds beside its
 * answer, and take a quarter to a half less room as the bytes that they spell.
 *
 * With them are written the values that go to the scripts.
 *
 * Equal texts have equal bytes and different texts different ones, so the scripts can compare them.
 *
 * ```
 * (nothing)        null
 * 0 text           a text that is empty or begins with a character below 4
 * 1 16 bytes       a UUID in lower case
 * 2 bytes          base64url without padding, at least 16 characters
 * 3 bytes          the same after `1.`, as in fingerprints
 * text             any other, in UTF-8
 * ```
 *
 * @module
 */

const PLAIN = 0
const UUID = 1
const BASE64URL = 2
const FINGERPRINT = 3
/** Has no tag. */
const TEXT = 4

const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const UUID_LENGTH = 36
const BASE64URL_FORM = /^[\w-]{16,}$/
/** The same after `1.`. */
const FINGERPRINT_FORM = /^1\.[\w-]{16,}$/
/** Shorter texts are neither. */
const FORM_LENGTH_MIN = 16

/**
 * What base64url can end with, by how many characters are left after the last four: the bits that no
 * byte has are zero, or it is another spelling of the same bytes, which stays a text.
 */
const LAST_OF_TWO = 'AQgw'
const LAST_OF_THREE = 'AEIMQUYcgkosw048'

const NOTHING: Buffer = Buffer.alloc(0)

/** The bytes of a text. */
export function compact(text: string | null): Buffer {
  if (text === null) return NOTHING
  const form = formOf(text)
  const bytes = Buffer.allocUnsafe(sizeOf(form, text))
  write(form, text, { bytes, at: 0 })
  return bytes
}

function formOf(text: string): number {
  // An empty text has no first character, which is not a number, and is more than none.
  if (!(text.charCodeAt(0) > FINGERPRINT)) return PLAIN
  const { length } = text
  if (length < FORM_LENGTH_MIN) return TEXT
  if (length === UUID_LENGTH && UUID_FORM.test(text)) return UUID
  if (BASE64URL_FORM.test(text)) return isCanonical(text, length) ? BASE64URL : TEXT
  return FINGERPRINT_FORM.test(text) && isCanonical(text, length - 2) ? FINGERPRINT : TEXT
}

function isCanonical(text: string, digits: number): boolean {
  switch (digits % 4) {
    case 0:
      return true
    case 2:
      return LAST_OF_TWO.includes(text.charAt(text.length - 1))
    case 3:
      return LAST_OF_THREE.includes(text.charAt(text.length - 1))
    default:
      return false
  }
}

function sizeOf(form: number, text: string): number {
  switch (form) {
    case UUID:
      return 17
    case BASE64URL:
      return 1 + Math.floor((text.length * 3) / 4)
    case FINGERPRINT:
      return 1 + Math.floor(((text.length - 2) * 3) / 4)
    case PLAIN:
      return 1 + Buffer.byteLength(text)
    default:
      return Buffer.byteLength(text)
  }
}

function write(
  form: number,
  text: string,
  { bytes, at }: { readonly bytes: Buffer; readonly at: number },
): void {
  if (form === TEXT) {
    bytes.write(text, at)
    return
  }
  bytes[at] = form
  if (form === UUID) writeUuid(text, bytes, at + 1)
  else if (form === BASE64URL) bytes.write(text, at + 1, 'base64url')
  else if (form === FINGERPRINT) bytes.write(text.slice(2), at + 1, 'base64url')
  else bytes.write(text, at + 1)
}

function writeUuid(text: string, bytes: Buffer, start: number): void {
  let at = start
  for (let i = 0; i < UUID_LENGTH; i += 2) {
    // The dashes.
    if (i === 8 || i === 13 || i === 18 || i === 23) i++
    bytes[at++] = (digitOf(text.charCodeAt(i)) << 4) | digitOf(text.charCodeAt(i + 1))
  }
}

/** The value of a hexadecimal digit in lower case. */
function digitOf(code: number): number {
  return code < 58 ? code - 48 : code - 87
}

/** The text of the bytes. */
export function expand(bytes: Buffer): string | null {
  switch (bytes[0]) {
    case undefined:
      return null
    case PLAIN:
      return bytes.toString('utf8', 1)
    case UUID:
      return uuidOf(bytes.toString('hex', 1))
    case BASE64URL:
      return bytes.toString('base64url', 1)
    case FINGERPRINT:
      return `1.${bytes.toString('base64url', 1)}`
    default:
      return bytes.toString()
  }
}

function uuidOf(hex: string): string {
  const head = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}`
  return `${head}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** The most bytes that the head of a text or a number has. */
const HEAD_BYTES_MAX = 9
/** Those of a text whose length is not known before it was written. */
const LONG_HEAD_BYTES = 5
/** The most that a character becomes in UTF-8. */
const CHARACTER_BYTES_MAX = 3
const BYTES_MIN = 4096
/** A buffer that grew beyond is not kept. */
const BYTES_KEPT = 65_536

/**
 * Writes MessagePack as `cmsgpack.unpack` of the scripts reads it, one value after the other. What is
 * written is taken before anybody else writes, so all share one buffer: each value on its own would be
 * garbage at once.
 */
export class Packer {
  #bytes: Buffer = Buffer.allocUnsafeSlow(BYTES_MIN)
  #at = 0

  /** Forgets what was written and not taken. */
  begin(): this {
    this.#at = 0
    return this
  }

  /** A text in few bytes. */
  compact(text: string | null): this {
    if (text === null) {
      this.#reserve(0)
      return this.#head(0)
    }
    const form = formOf(text)
    this.#reserve(1 + text.length * CHARACTER_BYTES_MAX)
    const size = sizeOf(form, text)
    this.#head(size)
    write(form, text, { bytes: this.#bytes, at: this.#at })
    this.#at += size
    return this
  }

  /** Bytes as they are. */
  raw(value: Uint8Array): this {
    this.#reserve(value.byteLength)
    this.#head(value.byteLength)
    this.#bytes.set(value, this.#at)
    this.#at += value.byteLength
    return this
  }

  /** A whole number that is not negative. */
  number(value: number): this {
    this.#reserve(0)
    const bytes = this.#bytes
    const at = this.#at
    if (value < 0x80) this.#at = bytes.writeUInt8(value, at)
    else if (value < 0x1_0000_0000)
      this.#at = bytes.writeUInt32BE(value, bytes.writeUInt8(0xce, at))
    else this.#at = bytes.writeBigUInt64BE(BigInt(value), bytes.writeUInt8(0xcf, at))
    return this
  }

  /** A yes or a no. */
  flag(value: boolean): this {
    this.#reserve(0)
    this.#at = this.#bytes.writeUInt8(value ? 0xc3 : 0xc2, this.#at)
    return this
  }

  /** Begins a value of bytes that has further values in it; gives what {@link close} is told. */
  open(): number {
    this.#reserve(0)
    this.#at += LONG_HEAD_BYTES
    return this.#at
  }

  /** Ends the value that begins there. */
  close(start: number): this {
    const bytes = this.#bytes
    bytes.writeUInt32BE(this.#at - start, bytes.writeUInt8(0xdb, start - LONG_HEAD_BYTES))
    return this
  }

  /** What was written, which is the taker's. */
  take(): Buffer {
    const taken = Buffer.allocUnsafe(this.#at)
    this.#bytes.copy(taken, 0, 0, this.#at)
    if (this.#bytes.length > BYTES_KEPT) this.#bytes = Buffer.allocUnsafeSlow(BYTES_MIN)
    return taken
  }

  #head(length: number): this {
    const bytes = this.#bytes
    const at = this.#at
    if (length < 0x20) this.#at = bytes.writeUInt8(0xa0 | length, at)
    else if (length < 0x100) this.#at = bytes.writeUInt16BE(0xd900 | length, at)
    else this.#at = bytes.writeUInt32BE(length, bytes.writeUInt8(0xdb, at))
    return this
  }

  #reserve(bytes: number): void {
    const needed = this.#at + HEAD_BYTES_MAX + bytes
    if (needed <= this.#bytes.length) return
    const longer = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(longer, 0, 0, this.#at)
    this.#bytes = longer
  }
}
