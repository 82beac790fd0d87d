/**
 * A number for a text, by which it is found again in a table of numbers.
 *
 * @module
 */

const BASIS = 0x811c_9dc5
const PRIME = 0x0100_0193

/** 32 bits of FNV-1a, never zero: for tables that may forget, and check what they have found. */
export function textHash(text: string): number {
  let hash = BASIS
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), PRIME)
  return hash >>> 0 || BASIS
}

/** The least power of two that is not less than `count`. */
export function powerOfTwo(count: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, count)))
}
