import { OVERHEAD_BOUNDS } from './catalogue.ts'

/** A distribution, as Prometheus has it. */
export interface Distribution {
  /** How many values were at most each bound, smallest bound first. */
  readonly buckets: readonly { readonly le: number; readonly count: number }[]
  readonly count: number
  readonly sum: number
}

/** Counts values by size, in seconds. */
export class Histogram {
  readonly #counts: number[] = OVERHEAD_BOUNDS.map(() => 0)
  #count = 0
  #sum = 0

  /** Adds a value. */
  observe(seconds: number): void {
    const index = OVERHEAD_BOUNDS.findIndex((bound) => seconds <= bound)
    if (index !== -1) this.#counts[index] = (this.#counts[index] ?? 0) + 1
    this.#count++
    this.#sum += seconds
  }

  /** What was added so far. */
  distribution(): Distribution {
    let count = 0
    const buckets = OVERHEAD_BOUNDS.map((le, index) => {
      count += this.#counts[index] ?? 0
      return { le, count }
    })
    return { buckets, count: this.#count, sum: this.#sum }
  }
}
