/**
 * Answers that nobody has asked for again, as bytes in one block of memory.
 *
 * Every answer is put here and hardly any is taken. As objects they would outlive the collections of
 * young ones, each of which copies what is left: a tenth of the time that a request took. What lies
 * here the collector never sees.
 *
 * ```
 *   block: … │ lengths │ JSON │ body │ lengths │ JSON │ body │ …   goes round, and writes over the oldest
 *   places: where the answer to a request lies, by a hash of it; a later one may take its place
 * ```
 *
 * @module
 */

import { powerOfTwo, textHash } from './text-hash.ts'

/** Bytes of the two lengths before each. */
const LENGTHS = 8

/** Bytes of the block for each place: with a few hundred for each answer, one in ten is displaced. */
const BYTES_PER_PLACE = 128

/** Things with some bytes, kept by name for as long as there is room. */
export class Shelf<Thing> {
  readonly #capacity: number
  readonly #places: Float64Array
  #block: Buffer | undefined
  /** Bytes that were ever written; what lies more than the capacity behind is written over. */
  #end: number

  /** @param capacity - bytes of the block, which is there from when something is put in it */
  constructor(capacity: number) {
    this.#capacity = capacity
    this.#places = new Float64Array(powerOfTwo(capacity / BYTES_PER_PLACE))
    // No place is zero, so that one which is has nothing.
    this.#end = capacity
  }

  /** Keeps the thing and its bytes under a name; what is too large is not kept, and `false`. */
  put(name: string, thing: Thing, bytes: Uint8Array): boolean {
    const text = JSON.stringify([name, thing])
    const textBytes = Buffer.byteLength(text)
    const size = LENGTHS + textBytes + bytes.byteLength
    if (size > this.#capacity) return false
    const start = this.#room(size)
    const block = (this.#block ??= Buffer.alloc(this.#capacity))
    let at = start % this.#capacity
    at = block.writeUInt32LE(textBytes, at)
    at = block.writeUInt32LE(bytes.byteLength, at)
    at += block.write(text, at)
    block.set(bytes, at)
    this.#end = start + size
    this.#places[this.#placeOf(name)] = start
    return true
  }

  /** Takes what is kept under the name off the shelf; its bytes are a copy. */
  take(name: string): { readonly thing: Thing; readonly bytes: Uint8Array } | undefined {
    const place = this.#placeOf(name)
    const start = this.#places[place] ?? 0
    const block = this.#block
    if (block === undefined || start === 0 || this.#end - start > this.#capacity) return undefined
    const at = (start % this.#capacity) + LENGTHS
    const textEnd = at + block.readUInt32LE(at - LENGTHS)
    // What `put` has written, of the same things.
    const [own, thing] = JSON.parse(block.toString('utf8', at, textEnd)) as [string, Thing]
    if (own !== name) return undefined
    this.#places[place] = 0
    const length = block.readUInt32LE(at - LENGTHS / 2)
    return { thing, bytes: new Uint8Array(block.subarray(textEnd, textEnd + length)) }
  }

  /** Where the next so many bytes lie together. */
  #room(size: number): number {
    const left = this.#capacity - (this.#end % this.#capacity)
    return size <= left ? this.#end : this.#end + left
  }

  #placeOf(name: string): number {
    return textHash(name) & (this.#places.length - 1)
  }
}
