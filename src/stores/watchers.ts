/**
 * Who waits for which record, inside one process.
 *
 * @module
 */

import type { Unwatch } from '../engine/store.ts'

/** Watchers by record id. A watcher is woken any number of times until it stops watching. */
export class Watchers {
  readonly #byId = new Map<string, Set<() => void>>()

  /** Adds a watcher. */
  add(id: string, wake: () => void): Unwatch {
    const watcher = () => wake()
    const watchers = this.#byId.get(id) ?? new Set()
    this.#byId.set(id, watchers.add(watcher))
    return () => {
      watchers.delete(watcher)
      if (watchers.size === 0 && this.#byId.get(id) === watchers) this.#byId.delete(id)
    }
  }

  /** Wakes whoever watches `id`. */
  wake(id: string): void {
    for (const watcher of [...(this.#byId.get(id) ?? [])]) watcher()
  }

  /** How many records are watched. */
  get size(): number {
    return this.#byId.size
  }
}
