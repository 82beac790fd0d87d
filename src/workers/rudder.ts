/**
 * How operators steer a worker on every node: it looks before each run, and is woken when it is told.
 *
 * @module
 */

import type { Desk, SteeredWorker } from '../engine/desk.ts'

/** Tells a worker on one node whether it is to run. */
export class Rudder {
  readonly #desk: Pick<Desk, 'steering'> | undefined
  readonly #worker: SteeredWorker
  /** How many single runs were asked for when it last looked. */
  #runs: number | undefined

  constructor(desk: Pick<Desk, 'steering'> | undefined, worker: SteeredWorker) {
    this.#desk = desk
    this.#worker = worker
  }

  /** Whether this run is left out: it is paused, and no single run was asked for since. */
  async isHalted(): Promise<boolean> {
    if (this.#desk === undefined) return false
    const { isPaused, runs } = await this.#desk.steering(this.#worker)
    const isAsked = this.#runs !== undefined && runs > this.#runs
    this.#runs = runs
    return isPaused && !isAsked
  }
}

type Watch = (wake: () => void) => Promise<() => void>

/** Watches through all of them. One that fails keeps nothing from the others. */
export function watching(...watches: readonly (Watch | undefined)[]): Watch | undefined {
  const given = watches.filter((watch) => watch !== undefined)
  if (given.length === 0) return undefined
  return async (wake) => {
    const begun = await Promise.allSettled(given.map((watch) => watch(wake)))
    return () => {
      for (const one of begun) if (one.status === 'fulfilled') one.value()
    }
  }
}
