/**
 * Duplicates that wait for a request running in another process.
 *
 * All waiters of one record share one watch, one poll and what the store last told one of them, so that
 * a thousand of them cost the store as much as one, also when they come one after the other. Waking is
 * a hint: the woken look again for themselves. Polling is the net under the store's own signals, and
 * what notices an owner that died.
 *
 * @module
 */

import { within } from './bounded.ts'
import type { Cancel, Clock } from './clock.ts'
import type { RunResult } from './result.ts'
import type { Store, Unwatch } from './store.ts'

/** Bounds on waiting. */
export interface WaiterLimits {
  /**
   * How many duplicates may wait for one record in this process; more are answered at once.
   *
   * @default 1000
   */
  readonly perKeyMax?: number
  /**
   * How many duplicates may wait in this process in all.
   *
   * @default 10000
   */
  readonly totalMax?: number
}

/** Without signals: from 20 ms, doubling, to 250 ms. */
const POLL_MS = 20
const POLL_MS_MAX = 250
/** With signals polling only has to notice lost signals and dead owners. */
const POLL_WATCHED_MS = 1000

/** One waiter's place. Its watch goes on between looks, so that no change in between is missed. */
export interface Seat {
  /** What others who wait with the same request were told, if nothing may have changed since. */
  told(): RunResult | undefined
  /**
   * Waits for at most `ms` milliseconds until the record may have changed since the last look, which
   * came to `result`; tells whether it may.
   */
  next(ms: number, result: RunResult): Promise<boolean>
  /** Gives the place up; repeated calls do nothing. */
  leave(): void
}

/** The waiters of one engine. */
export class Waiters {
  readonly #store: Pick<Store, 'watch'>
  readonly #clock: Clock
  readonly #limits: Required<WaiterLimits>
  readonly #groups = new Map<string, WaitGroup>()
  #total = 0

  constructor(store: Pick<Store, 'watch'>, clock: Clock, limits: Required<WaiterLimits>) {
    this.#store = store
    this.#clock = clock
    this.#limits = limits
  }

  /** A place among those who wait for the record, to be left again; none where too many wait. */
  enter(id: string, request: string): Seat | undefined {
    const group = this.#groups.get(id) ?? new WaitGroup(this.#clock)
    const { perKeyMax, totalMax } = this.#limits
    if (group.size >= perKeyMax || this.#total >= totalMax) return undefined

    this.#groups.set(id, group)
    group.size++
    this.#total++
    let seen = group.changed
    let isTaken = true
    return {
      told: () => group.told.get(request),
      next: async (ms, result) => {
        group.begin(this.#store, id)
        if (group.changed === seen) {
          group.told.set(request, result)
          await within(this.#clock, { ms, work: seen, fallback: undefined })
        }
        const isChanged = group.changed !== seen
        seen = group.changed
        return isChanged
      },
      leave: () => {
        if (!isTaken) return
        isTaken = false
        this.#total--
        if (--group.size > 0) return
        this.#groups.delete(id)
        group.close()
      },
    }
  }

  /** Wakes everybody who waits, so that they look again. */
  wakeAll(): void {
    for (const group of this.#groups.values()) group.wake()
  }
}

/** All who wait for one record. */
class WaitGroup {
  /** How many wait. */
  size = 0
  /** What requests were told since the record may last have changed. */
  readonly told: Map<string, RunResult> = new Map()
  readonly #clock: Clock
  #announce: (() => void) | undefined
  /** Resolves when the record may have changed; another from then on. */
  changed: Promise<void> = this.#next()
  #unwatch: Unwatch | undefined
  #cancelPoll: Cancel | undefined
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Begins to watch and to poll when the first waiter has reason to. */
  begin(store: Pick<Store, 'watch'>, id: string): void {
    if (this.#cancelPoll !== undefined) return
    // While the store is asked for its signals, a look would only be made again once they come.
    this.#poll(store.watch === undefined ? POLL_MS : POLL_MS_MAX)
    void this.#watch(store, id)
  }

  /** Says that the record may have changed. */
  wake(): void {
    this.told.clear()
    this.#announce?.()
    this.changed = this.#next()
  }

  close(): void {
    this.#isClosed = true
    this.#cancelPoll?.()
    this.#unwatch?.()
  }

  #next(): Promise<void> {
    return new Promise((resolve) => {
      this.#announce = resolve
    })
  }

  /** Asks the store for its signals; without them polling is all there is. */
  async #watch(store: Pick<Store, 'watch'>, id: string): Promise<void> {
    try {
      const unwatch = await store.watch?.(id, () => this.wake())
      if (unwatch === undefined) return
      if (this.#isClosed) return unwatch()
      this.#unwatch = unwatch
    } catch {
      // The store can not signal just now; polling goes on.
      if (this.#isClosed) return
    }
    // It may have changed before the watch was on, or who ends it has asked just before whether
    // anybody watches and commits now. One look finds both, a little later.
    this.#cancelPoll?.()
    this.#poll(POLL_MS)
  }

  #poll(ms: number): void {
    this.#cancelPoll = this.#clock.after(ms, () => {
      this.wake()
      this.#poll(this.#unwatch === undefined ? Math.min(2 * ms, POLL_MS_MAX) : POLL_WATCHED_MS)
    })
  }
}
