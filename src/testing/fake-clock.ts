/**
 * A clock that stands still until it is told to go on.
 *
 * @module
 */

import type { Cancel, Clock } from '../engine/clock.ts'

interface Timer {
  readonly due: number
  readonly callback: () => void
}

/** Time for tests and simulations: it moves only through {@link FakeClock.advance}. */
export class FakeClock implements Clock {
  #now: number
  readonly #timers = new Set<Timer>()

  /** @param now - where the clock starts, in milliseconds. */
  constructor(now = 0) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  unix(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): Cancel {
    const timer = { due: this.#now + Math.max(ms, 0), callback }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /**
   * Goes on by `ms` milliseconds and calls what comes due on the way: in the order of time, and of
   * setting where times are equal; also what those calls set themselves.
   */
  advance(ms: number): void {
    if (!(ms >= 0)) throw new RangeError(`A clock does not go back by ${ms} ms.`)
    const end = this.#now + ms
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#timers.delete(next)
      this.#now = next.due
      next.callback()
    }
    this.#now = end
  }

  /** How many timers are set. */
  get timerCount(): number {
    return this.#timers.size
  }

  /** The first timer that comes due until `end`. */
  #next(end: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of this.#timers) {
      if (timer.due <= end && (first === undefined || timer.due < first.due)) first = timer
    }
    return first
  }
}
