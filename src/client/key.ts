/**
 * Keys: one for each logical operation, made before its first attempt.
 *
 * @module
 */

import { type Clock, type Random, systemClock, systemRandom } from './clock.ts'

/** A key that carries the time at which it was made, so that servers can tell how old it is. */
export function uuidV7(clock: Clock = systemClock, random: Random = systemRandom): string {
  return uuid(clock.unix().toString(16).padStart(12, '0'), `7${hex(random.bytes(9))}`)
}

/** A key of chance alone. */
export function uuidV4(random: Random = systemRandom): string {
  return uuid(hex(random.bytes(6)), `4${hex(random.bytes(9))}`)
}

/**
 * A key that follows from what is done: the same operation on the same data has the same key, also
 * after a crash that left nothing behind, and on another machine. The order of members means nothing.
 * For operations that are the same thing when they say the same, such as *close the books of May*.
 *
 * @param operation - what is done; letters, digits, `-`, `_` and `.`
 * @param data - what it is done with; anything that JSON can say
 */
export async function deriveKey(operation: string, data: unknown): Promise<string> {
  const text = JSON.stringify([operation, data], (_, value: unknown) => sorted(value))
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return checkedKey(`${operation}-${hex(new Uint8Array(digest))}`)
}

/** Not the text of a missing value either: all requests of such a client would share one key. */
const KEY = /^(?!(undefined|null|NaN|true|false|\[object Object\])$)(?=.*[!-~])[ -~]{1,255}$/

/** The key, if it is one that every server understands. */
export function checkedKey(key: string): string {
  if (KEY.test(key)) return key
  throw new TypeError('A key has 1 to 255 printable ASCII characters.')
}

/** The key that a header carries, in quotes or bare. */
export function keyOfHeader(value: string): string {
  return checkedKey(value.replace(/^"|"$|\\(.)/g, '$1'))
}

/** Twelve digits and nineteen more; an 8 among them is the mark of the variant. */
function uuid(head: string, tail: string): string {
  return (head + tail).replace(/^(.{8})(.{4})(.{4})(.{3})/, '$1-$2-$3-8$4-')
}

function hex(bytes: Uint8Array): string {
  return bytes.reduce((text, byte) => text + byte.toString(16).padStart(2, '0'), '')
}

/** Members in an order of their own. */
function sorted(value: unknown): unknown {
  // What is no object is wrapped, and so becomes another.
  if (Object(value) !== value || Array.isArray(value)) return value
  return Object.fromEntries(Object.entries(Object(value)).sort(([a], [b]) => (a < b ? -1 : 1)))
}
