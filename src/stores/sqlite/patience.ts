/**
 * Waiting for others, bounded.
 *
 * SQLite's own way of waiting blocks the thread, and with it every other request. So each attempt
 * blocks for a few milliseconds at most, and between attempts the event loop is free.
 *
 * @module
 */

import { STORE_UNAVAILABLE } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import { pause } from '../../engine/bounded.ts'
import type { Clock } from '../../engine/clock.ts'
import { isLocked } from './client.ts'
import type { SqliteSettings } from './options.ts'

/** Least time between two attempts, and by how much chance may lengthen it, in milliseconds. */
const PAUSE_MS = 2
const PAUSE_SPREAD_MS = 20

/** How long one call still waits, all in all. */
export class Patience {
  readonly clock: Clock
  readonly #settings: Pick<SqliteSettings, 'busyMs' | 'random'>
  readonly #until: number

  constructor(settings: Pick<SqliteSettings, 'busyMs' | 'clock' | 'random'>) {
    this.clock = settings.clock
    this.#settings = settings
    this.#until = settings.clock.now() + settings.busyMs
  }

  /** What is left, in milliseconds. */
  get leftMs(): number {
    return Math.max(0, this.#until - this.clock.now())
  }

  /**
   * Does `work`, again and again while another connection is in the way.
   *
   * @throws RepriseError `idempotency-store-unavailable` when the time is up
   */
  async attempt<T>(work: () => T): Promise<T> {
    for (;;) {
      try {
        return work()
      } catch (error) {
        if (!isLocked(error)) throw error
        if (this.leftMs === 0) throw this.ended(error)
      }
      const ms = PAUSE_MS + this.#settings.random.fraction() * PAUSE_SPREAD_MS
      await pause(this.clock, Math.min(ms, this.leftMs))
    }
  }

  /** The error for when the time is up. */
  ended(cause?: unknown): RepriseError {
    const detail = `SQLite was kept busy by others for ${this.#settings.busyMs} ms`
    return new RepriseError(STORE_UNAVAILABLE, detail, { cause })
  }
}
