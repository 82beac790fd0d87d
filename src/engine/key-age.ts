/**
 * The age of keys that tell when they were made. An import of its own: most keys do not tell.
 *
 * @module
 */

import { keyTimestamp } from '../core/key.ts'
import { whole } from '../core/options.ts'
import { type Clock, systemClock } from './clock.ts'

/** Judges how old a key is: {@link keyAge}, or one of your own for keys of another make. */
export interface KeyAge {
  /** How old a key may be, in milliseconds; published with the policy of the route. */
  readonly ageMsMax: number
  /** Whether the key is older than that; never where it does not tell. */
  isOver(key: string): boolean
}

/** Settings of {@link keyAge}. */
export interface KeyAgeOptions {
  /** How old a key may be, in milliseconds. Should be a little under the retention. */
  readonly ageMsMax: number
  /**
   * The wall clock that ages are judged by, for tests.
   *
   * @default the real one
   */
  readonly clock?: Pick<Clock, 'unix'>
}

/**
 * Judges the age of time-based keys, UUIDv7 and ULID.
 *
 * @example
 * ```ts
 * idempotent(reprise, { caller, keyAge: keyAge({ ageMsMax: 23 * 3_600_000 }) })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function keyAge({ ageMsMax, clock = systemClock }: KeyAgeOptions): KeyAge {
  whole('ageMsMax', ageMsMax, 1)
  return {
    ageMsMax,
    isOver(key) {
      const madeAt = keyTimestamp(key)
      return madeAt !== null && clock.unix() - madeAt > ageMsMax
    },
  }
}
