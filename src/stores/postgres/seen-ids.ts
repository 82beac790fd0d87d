/**
 * Ids of records that this process has lately met: with their answer, or with their key taken elsewhere.
 *
 * Nearly every key is fresh, so a transaction is begun before anybody looks. Who asks for one of these
 * is nearly always sent again, and is looked for outside of any transaction: one statement, where there
 * would be three and a connection held for them. It is a guess about what to ask first; the database
 * says what is so. So numbers do, of which each may displace another and be taken for another.
 *
 * @module
 */

import { textHash } from '../../engine/text-hash.ts'

/** A power of two: 128 kB. */
const COUNT = 32_768

/** Ids of records, as many as have room. */
export class SeenIds {
  readonly #hashes = new Uint32Array(COUNT)

  has(id: string): boolean {
    const hash = textHash(id)
    return this.#hashes[hash & (COUNT - 1)] === hash
  }

  add(id: string): void {
    const hash = textHash(id)
    this.#hashes[hash & (COUNT - 1)] = hash
  }
}
