/**
 * Says that the store fails where no listener is given: an outage must not be silent.
 *
 * @module
 */

import { failureText } from '../core/causes.ts'
import type { Clock } from './clock.ts'

/** How long nothing more is said of the same cause, in milliseconds. */
const QUIET_MS = 60_000

/** The warnings of one engine: one per cause and minute. */
export class StoreWarnings {
  readonly #clock: Clock
  readonly #store: string
  /** When each cause was last told. Texts are few: codes, and what Reprise says itself. */
  readonly #toldAt = new Map<string, number>()

  constructor(clock: Clock, store: string) {
    this.#clock = clock
    this.#store = store
  }

  /** Warns of a failure, unless the same was told within the last minute. */
  tell(error: unknown): void {
    const why = failureText(error)
    const now = this.#clock.now()
    const toldAt = this.#toldAt.get(why)
    if (toldAt !== undefined && now - toldAt < QUIET_MS) return
    this.#toldAt.set(why, now)
    const text = `The ${this.#store} store failed: ${why}`
    process.emitWarning(text, { type: 'RepriseWarning', code: 'REPRISE_STORE_FAILED' })
  }
}
