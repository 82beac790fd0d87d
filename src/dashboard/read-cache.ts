/**
 * Readings that all viewers share: what the dashboard costs the database does not grow with them.
 *
 * @module
 */

import type { Clock } from '../engine/clock.ts'

/** A reading, or one under way. */
interface Entry {
  readonly value: Promise<unknown>
  /** When it is too old; while it is under way, never. */
  staleAt: number
}

/** A reading that takes longer than this is made less often, in milliseconds. */
const SLOW_MS = 200
/** A slow reading takes at most this part of the time. */
const SLOW_SHARE = 10
const ENTRIES_MAX = 500

/** Keeps each reading for a moment, and has equal ones under way wait for each other. */
export class ReadCache {
  readonly #clock: Clock
  readonly #freshMs: number
  readonly #entries = new Map<string, Entry>()

  /** @param freshMs - how old a reading may be, in milliseconds */
  constructor(clock: Clock, freshMs: number) {
    this.#clock = clock
    this.#freshMs = freshMs
  }

  /** What was read under this name a moment ago, or what `read` gives. Failures are not kept. */
  async get<T>(name: string, read: () => Promise<T>): Promise<T> {
    const known = this.#entries.get(name)
    // Under one name there is always the same kind of thing.
    if (known !== undefined && known.staleAt > this.#clock.now()) return known.value as Promise<T>

    const began = this.#clock.now()
    const value = read()
    const entry: Entry = { value, staleAt: Number.POSITIVE_INFINITY }
    this.#entries.delete(name)
    this.#entries.set(name, entry)
    this.#makeRoom()
    try {
      const result = await value
      const tookMs = this.#clock.now() - began
      const restMs = tookMs > SLOW_MS ? Math.max(this.#freshMs, tookMs * SLOW_SHARE) : this.#freshMs
      entry.staleAt = this.#clock.now() + restMs
      return result
    } catch (error) {
      if (this.#entries.get(name) === entry) this.#entries.delete(name)
      throw error
    }
  }

  /** Forgets everything: something was changed. */
  clear(): void {
    this.#entries.clear()
  }

  #makeRoom(): void {
    for (const name of this.#entries.keys()) {
      if (this.#entries.size <= ENTRIES_MAX) return
      this.#entries.delete(name)
    }
  }
}
