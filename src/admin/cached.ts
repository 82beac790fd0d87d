/**
 * What many may look at is read once for all of them, one set of queries at a time, and less often
 * when it takes long.
 *
 * @module
 */

import type { Clock } from '../engine/clock.ts'

/** A set of queries that takes longer than this is asked less often, in milliseconds. */
const SLOW_MS = 200
/** By how much: a slow set takes at most one part in so many of the time. */
const SLOW_FACTOR = 20
/** How many answers are kept. */
const KEPT_MAX = 10

interface Kept<T> {
  readonly value: T
  readonly staleAt: number
}

/** Answers by name, each read by the same function. */
export class Cached<K, T> {
  readonly #read: (key: K) => Promise<T>
  readonly #clock: Clock
  readonly #freshMs: number
  readonly #kept = new Map<K, Kept<T>>()
  readonly #underway = new Map<K, Promise<T>>()
  #last: Promise<unknown> = Promise.resolve()

  /** @param freshMs - how long an answer is given to everybody who asks, in milliseconds */
  constructor(clock: Clock, freshMs: number, read: (key: K) => Promise<T>) {
    this.#clock = clock
    this.#freshMs = freshMs
    this.#read = read
  }

  get(key: K): Promise<T> {
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.staleAt > this.#clock.now()) return Promise.resolve(kept.value)
    const underway = this.#underway.get(key) ?? this.#inTurn(key)
    this.#underway.set(key, underway)
    return underway
  }

  #inTurn(key: K): Promise<T> {
    const next = this.#last.then(() => this.#ask(key))
    this.#last = next.catch(() => {})
    return next.finally(() => this.#underway.delete(key))
  }

  async #ask(key: K): Promise<T> {
    const startedAt = this.#clock.now()
    const value = await this.#read(key)
    const endedAt = this.#clock.now()
    const tookMs = endedAt - startedAt
    const isSlow = tookMs > SLOW_MS
    const restMs = isSlow ? Math.max(this.#freshMs, tookMs * SLOW_FACTOR) : this.#freshMs
    if (this.#kept.size >= KEPT_MAX) this.#kept.clear()
    this.#kept.set(key, { value, staleAt: endedAt + restMs })
    return value
  }
}
