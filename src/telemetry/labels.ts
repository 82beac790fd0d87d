/**
 * Label values in bounded number: whoever watches pays for each of them, and some come from outside.
 *
 * @module
 */

/** What values beyond the bound are called. */
export const OTHER = 'other'

/** How many causes of failures of the store are told apart. */
export const CAUSES_MAX = 50

/** Lets the first so many values through; later ones are all the same. */
export class Labels {
  readonly #seen = new Set<string>()
  readonly #max: number

  constructor(max: number) {
    this.#max = max
  }

  /** The value, or `other`. */
  of(value: string): string {
    if (this.#seen.has(value)) return value
    if (this.#seen.size >= this.#max) return OTHER
    this.#seen.add(value)
    return value
  }
}
