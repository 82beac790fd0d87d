/**
 * A process with a clock of its own, which can freeze, thaw and die between any two of its steps.
 *
 * @module
 */

import type { Cancel, Clock } from '../../src/engine/clock.ts'
import type { Session } from './database/session.ts'
import type { Scheduler, Task } from './scheduler.ts'

/** How the clock of a machine goes. */
export interface ClockOptions {
  /** Milliseconds of the machine's clock for one of the world's. */
  readonly rate: number
  /** Where it starts. */
  readonly offsetMs: number
  /** Whether it stands still while the machine is frozen, as some do while a laptop sleeps. */
  readonly stopsWhenFrozen: boolean
}

/** One process. */
export class Machine {
  readonly name: string
  readonly clock: Clock
  state: 'alive' | 'frozen' | 'dead' = 'alive'
  /** How much later than the world its clock is by now, at most, in milliseconds. */
  lagMs = 0
  /** Connections to the database that it has not given back. */
  readonly connections = new Set<Session>()
  readonly #scheduler: Scheduler
  readonly #options: ClockOptions
  readonly #timers = new Set<Task>()
  #held: (() => void)[] = []
  #offsetMs: number
  /** How far its wall clock is from its monotonic one. */
  #unixMs = 0
  #frozenAt = 0

  constructor(name: string, scheduler: Scheduler, options: ClockOptions) {
    this.name = name
    this.#scheduler = scheduler
    this.#options = options
    this.#offsetMs = options.offsetMs
    const now = () => this.#offsetMs + scheduler.now * options.rate
    const unix = () => now() + this.#unixMs
    this.clock = { now, unix, after: (ms, callback) => this.#after(ms, callback) }
  }

  /** Timers that are set. */
  get timers(): number {
    return this.#timers.size
  }

  /** Does `step` now, when it thaws, or never. */
  step(step: () => void): void {
    if (this.state === 'alive') step()
    else if (this.state === 'frozen') this.#held.push(step)
  }

  freeze(): void {
    if (this.state !== 'alive') return
    this.state = 'frozen'
    this.#frozenAt = this.#scheduler.now
  }

  thaw(): void {
    if (this.state !== 'frozen') return
    this.state = 'alive'
    const frozenMs = this.#scheduler.now - this.#frozenAt
    if (this.#options.stopsWhenFrozen) this.#shift(-frozenMs * this.#options.rate)
    const held = this.#held
    this.#held = []
    for (const step of held) this.step(step)
  }

  die(): void {
    this.state = 'dead'
    this.#held = []
    for (const timer of this.#timers) this.#scheduler.drop(timer)
    this.#timers.clear()
  }

  /** The clock jumps ahead. */
  jump(ms: number): void {
    this.#shift(ms)
  }

  /** Its wall clock is set, both ways; timers do not go by it. */
  setUnix(ms: number): void {
    this.#unixMs += ms
  }

  #shift(ms: number): void {
    this.#offsetMs += ms
    if (ms < 0) this.lagMs -= ms / this.#options.rate
    for (const timer of this.#timers) {
      timer.at = Math.max(this.#scheduler.now, timer.at - ms / this.#options.rate)
    }
  }

  #after(ms: number, callback: () => void): Cancel {
    let isSet = true
    const fire = () => {
      if (!isSet) return
      isSet = false
      callback()
    }
    const timer = this.#scheduler.after(Math.max(0, ms) / this.#options.rate, () => {
      this.#timers.delete(timer)
      this.step(fire)
    })
    this.#timers.add(timer)
    return () => {
      isSet = false
      this.#timers.delete(timer)
      this.#scheduler.drop(timer)
    }
  }
}
