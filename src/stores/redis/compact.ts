/**
 * Short texts in few bytes. Digests, tokens and UUIDs make up most of what a record holds beside its
 * answer, and take a quarter to a half less room as the bytes that they spell.
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

const UUID_FORM = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/
const BASE64URL_FORM = /^[\w-]{16,}$/
/** Shorter texts are neither. */
const FORM_LENGTH_MIN = 16

const NOTHING: Buffer = Buffer.alloc(0)

/** The bytes of a text. */
export function compact(text: string | null): Buffer {
  if (text === null) return NOTHING
  const digits = text.length < FORM_LENGTH_MIN ? undefined : digitsOf(text)
  if (digits !== undefined) return digits
  const bytes = Buffer.from(text)
  return (bytes[0] ?? PLAIN) > FINGERPRINT ? bytes : Buffer.concat([Buffer.of(PLAIN), bytes])
}

/** The bytes of a text that spells others. */
function digitsOf(text: string): Buffer | undefined {
  if (UUID_FORM.test(text)) return tagged(UUID, text.replaceAll('-', ''), 'hex')
  const isFingerprint = text.startsWith('1.')
  const digits = isFingerprint ? text.slice(2) : text
  if (!BASE64URL_FORM.test(digits)) return undefined
  const bytes = tagged(isFingerprint ? FINGERPRINT : BASE64URL, digits, 'base64url')
  // Other spellings of the same bytes stay texts.
  return bytes.toString('base64url', 1) === digits ? bytes : undefined
}

function tagged(tag: number, digits: string, encoding: 'hex' | 'base64url'): Buffer {
  const bytes = Buffer.allocUnsafe(1 + Buffer.byteLength(digits, encoding))
  bytes[0] = tag
  bytes.write(digits, 1, encoding)
  return bytes
}

/** The text of the bytes. */
export function expand(bytes: Buffer): string | null {
  const rest = bytes.subarray(1)
  switch (bytes[0]) {
    case undefined:
      return null
    case PLAIN:
      return rest.toString()
    case UUID:
      return rest.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
    case BASE64URL:
      return rest.toString('base64url')
    case FINGERPRINT:
      return `1.${rest.toString('base64url')}`
    default:
      return bytes.toString()
  }
}

/** MessagePack of texts, one after the other: the bytes that `cmsgpack.pack` of the scripts makes. */
export function pack(texts: readonly Buffer[]): Buffer {
  let length = 0
  for (const text of texts) length += HEAD_BYTES_MAX + text.length
  const bytes = Buffer.allocUnsafe(length)
  let at = 0
  for (const text of texts) {
    at = packLength(bytes, at, text.length)
    at += text.copy(bytes, at)
  }
  return bytes.subarray(0, at)
}

const HEAD_BYTES_MAX = 5

function packLength(bytes: Buffer, at: number, length: number): number {
  if (length < 0x20) return bytes.writeUInt8(0xa0 | length, at)
  if (length < 0x100) return bytes.writeUInt16BE(0xd900 | length, at)
  if (length < 0x10000) return bytes.writeUInt16BE(length, bytes.writeUInt8(0xda, at))
  return bytes.writeUInt32BE(length, bytes.writeUInt8(0xdb, at))
}
