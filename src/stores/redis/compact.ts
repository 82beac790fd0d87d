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
const BASE64URL_FORM = /^(1\.)?([\w-]{16,})$/

/** The bytes of a text. */
export function compact(text: string | null): Buffer {
  if (text === null) return Buffer.alloc(0)
  if (UUID_FORM.test(text)) return tagged(UUID, Buffer.from(text.replaceAll('-', ''), 'hex'))
  const [, head, digits = ''] = BASE64URL_FORM.exec(text) ?? []
  if (digits !== '') {
    const bytes = Buffer.from(digits, 'base64url')
    const tag = head === undefined ? BASE64URL : FINGERPRINT
    // Other spellings of the same bytes stay texts.
    if (bytes.toString('base64url') === digits) return tagged(tag, bytes)
  }
  const bytes = Buffer.from(text)
  return (bytes[0] ?? PLAIN) > FINGERPRINT ? bytes : tagged(PLAIN, bytes)
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

function tagged(tag: number, bytes: Buffer): Buffer {
  return Buffer.concat([Buffer.of(tag), bytes])
}
