/**
 * Ids of records that this process has lately met: with their answer, or with their key taken elsewhere.
 *
 * Nearly every key is fresh, so a transaction is begun before anybody looks. Who asks for one of these
 * is nearly always sent again, and is looked for outside of any transaction: one statement, where there
 * would be three and a connection held for them. It is a guess about what to ask first; the database
 * says what is so.
 *
 * @module
 */

/** In each of two generations: some megabytes at most. */
const COUNT_MAX = 16_384

/** Ids of records. The older half goes when there are too many. */
export class SeenIds {
  #young = new Set<string>()
  #old = new Set<string>()

  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id)
  }

  add(id: string): void {
    this.#young.add(id)
    if (this.#young.size < COUNT_MAX) return
    this.#old = this.#young
    this.#young = new Set()
  }
}
