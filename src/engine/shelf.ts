/**
 * Answers that nobody has asked for again, as bytes in one block of memory.
 *
 * Every answer is put here and hardly any is taken. As objects they would outlive the collections of
 * young ones, each of which copies what is left: a fifth of the collector's time. What lies here it
 * never sees.
 *
 * ```
 *   block: … │ hash, lengths │ JSON │ body │ hash, lengths │ JSON │ body │ …   goes round, over the oldest
 *   places: where the answer to a request lies, by a hash of it; a later one may take its place
 * ```
 *
 * @module
 */

import { powerOfTwo, textHash } from './text-hash.ts'

/** Bytes before each: the hash of its name, the length of its JSON and that of its bytes. */
const HEAD = 12

/** Bytes of the block for each place: with a few hundred for each answer, one in ten is displaced. */
const BYTES_PER_PLACE = 128

/** Things with some bytes, kept by name for as long as there is room. */
export class Shelf<Thing> {
  readonly #capacity: number
  /** There from when something is put in it. */
  #memory: { readonly block: Buffer; readonly places: Float64Array } | undefined
  /** Bytes that were ever written; what lies more than the capacity behind is written over. */
  #end: number

  /** @param capacity - bytes of the block; the table of places takes a sixteenth to an eighth as much */
  constructor(capacity: number) {
    this.#capacity = capacity
    // No place is zero, so that one which is has nothing.
    this.#end = capacity
  }

  /** Keeps the thing and its bytes under a name; what is too large is not kept, and `false`. */
  put(name: string, thing: Thing, bytes: Uint8Array): boolean {
    const text = JSON.stringify([name, thing])
    const textBytes = Buffer.byteLength(text)
    const size = HEAD + textBytes + bytes.byteLength
    if (size > this.#capacity) return false
    const { block, places } = (this.#memory ??= memoryOf(this.#capacity))
    const start = this.#room(size)
    const hash = textHash(name)
    let at = start % this.#capacity
    at = block.writeUInt32LE(hash, at)
    at = block.writeUInt32LE(textBytes, at)
    at = block.writeUInt32LE(bytes.byteLength, at)
    at += block.write(text, at)
    block.set(bytes, at)
    this.#end = start + size
    places[hash & (places.length - 1)] = start
    return true
  }

  /** Takes what is kept under the name off the shelf, where nothing of it is left. */
  take(name: string): { readonly thing: Thing; readonly bytes: Uint8Array } | undefined {
    if (this.#memory === undefined) return undefined
    const { block, places } = this.#memory
    const hash = textHash(name)
    const place = hash & (places.length - 1)
    const start = places[place] ?? 0
    if (start === 0 || this.#end - start > this.#capacity) return undefined
    const at = start % this.#capacity
    // Most that are found in its place are others, and it costs little to tell.
    if (block.readUInt32LE(at) !== hash) return undefined
    const textEnd = at + HEAD + block.readUInt32LE(at + 4)
    const text = block.toString('utf8', at + HEAD, textEnd)
    // What `put` has written, of the same things.
    const [own, thing] = JSON.parse(text) as [string, Thing]
    if (own !== name) return undefined
    const bytes = copyOf(block.subarray(textEnd, textEnd + block.readUInt32LE(at + 8)))
    places[place] = 0
    block.fill(0, at, textEnd + bytes.byteLength)
    return { thing, bytes }
  }

  /** Where the next so many bytes lie together. */
  #room(size: number): number {
    const left = this.#capacity - (this.#end % this.#capacity)
    return size <= left ? this.#end : this.#end + left
  }
}

function memoryOf(capacity: number): { block: Buffer; places: Float64Array } {
  const places = new Float64Array(powerOfTwo(capacity / BYTES_PER_PLACE))
  return { block: Buffer.alloc(capacity), places }
}

/** In memory of its own: a small one would otherwise keep a block alive that others are cut from. */
function copyOf(bytes: Uint8Array): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength)
  copy.set(bytes)
  return copy
}
