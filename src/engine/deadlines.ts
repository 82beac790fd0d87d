/**
 * One timer for all that is due after the same time. What is over before, as nearly everything is,
 * costs two links of a list instead of a timer and two functions.
 *
 * @module
 */

import type { Cancel, Clock } from './clock.ts'

/** A process that is busy comes to its timers late, and not as late as this. */
const OVERDUE_MS = 1000

/** Something that is due once, unless it leaves before. */
export abstract class Due {
  /** By the process's clock. */
  dueAt = 0
  /** Neighbours in the list, which keeps them. */
  earlier: Due | undefined
  later: Due | undefined
  isListed = false

  /** Called when it is due. */
  abstract due(): void
}

/** What is due so many milliseconds after it came: who comes first is due first. */
export class Deadlines {
  readonly #clock: Clock
  readonly #ms: number
  #first: Due | undefined
  #last: Due | undefined
  #cancel: Cancel | undefined

  constructor(clock: Clock, ms: number) {
    this.#clock = clock
    this.#ms = ms
  }

  /** From now on it is due in time. */
  add(one: Due, now: number): void {
    one.dueAt = now + this.#ms
    one.earlier = this.#last
    one.isListed = true
    if (this.#last !== undefined) this.#last.later = one
    this.#last = one
    this.#first ??= one
    // A first one that is long overdue has lost its timer, as where a test put the process's timers back.
    if (this.#first !== one && this.#first.dueAt + OVERDUE_MS >= now) return
    this.#disarm()
    this.#arm(this.#first.dueAt - now)
  }

  /** It is no longer due. No timer is left when there is nothing that it could be for. */
  remove(one: Due): void {
    if (!one.isListed) return
    this.#unlink(one)
    if (this.#first === undefined) this.#disarm()
  }

  #unlink(one: Due): void {
    const { earlier, later } = one
    if (earlier === undefined) this.#first = later
    else earlier.later = later
    if (later === undefined) this.#last = earlier
    else later.earlier = earlier
    one.earlier = undefined
    one.later = undefined
    one.isListed = false
  }

  #arm(ms: number): void {
    this.#cancel = this.#clock.after(Math.max(0, ms), () => this.#fire())
  }

  #disarm(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  /** The timer was set for one that may have left: then it is set for the next. */
  #fire(): void {
    const now = this.#clock.now()
    try {
      for (let one = this.#first; one !== undefined && one.dueAt <= now; one = this.#first) {
        this.#unlink(one)
        one.due()
      }
    } finally {
      // Also after one that threw: it is not alone.
      this.#disarm()
      if (this.#first !== undefined) this.#arm(this.#first.dueAt - now)
    }
  }
}
