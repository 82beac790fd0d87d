/**
 * What operations usually take, so that "in progress" can say when to ask again.
 *
 * @module
 */

/** Weight of the newest observation: about the last ten count. */
const WEIGHT = 0.2
/** Names of operations come from routes, so there are few; this bounds a caller that makes them up. */
const OPERATIONS_MAX = 1000
/** Without knowledge, and as the least wait worth naming. */
const RETRY_MS = 1000

/** A moving average per operation. */
export class Durations {
  readonly #averages = new Map<string, number>()

  /** Notes that the operation took that long. */
  observe(operation: string, ms: number): void {
    const average = this.#averages.get(operation)
    if (average === undefined && this.#averages.size >= OPERATIONS_MAX) return
    this.#averages.set(operation, average === undefined ? ms : average + WEIGHT * (ms - average))
  }

  /** In how many milliseconds a run that began `ageMs` ago is worth asking for again. */
  retryAfter(operation: string, ageMs: number): number {
    const average = this.#averages.get(operation)
    return average === undefined ? RETRY_MS : Math.max(RETRY_MS, average - ageMs)
  }
}
