/**
 * The age of keys that tell when they were made. An import of its own: most keys do not tell.
 *
 * @module
 */

import { KEY_EXPIRED } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { keyTimestamp } from '../core/key.ts'
import { checkNames, type Names } from '../core/known-options.ts'
import { invalid, whole } from '../core/options.ts'
import { type Clock, systemClock } from './clock.ts'

/** Judges how old a key is; see {@link keyAge}. */
export interface KeyAge {
  /** How old a key may be, in milliseconds; published with the policy of the route. */
  readonly ageMsMax: number
  /**
   * Takes a key that is not older, or does not tell.
   *
   * @throws RepriseError `idempotency-key-expired`
   */
  check(key: string): void
  /**
   * Checks that answers are kept at least as long, in milliseconds.
   *
   * @throws RepriseError `reprise-options-invalid`
   */
  checkRetention(retentionMs: number): void
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
  /**
   * When a key was made, in milliseconds since 1970, for keys of another make; `null` for one that
   * does not tell.
   *
   * @default what a UUIDv7 or ULID says
   */
  readonly madeAt?: (key: string) => number | null
}

/**
 * Judges the age of time-based keys.
 *
 * @example
 * ```ts
 * idempotent(reprise, { caller, keyAge: keyAge({ ageMsMax: 23 * 3_600_000 }) })
 * ```
 * @throws RepriseError `reprise-options-invalid`
 */
export function keyAge(options: KeyAgeOptions): KeyAge {
  checkNames('keyAge()', options, {
    ageMsMax: true,
    clock: true,
    madeAt: true,
  } satisfies Names<KeyAgeOptions>)
  const { ageMsMax, clock = systemClock, madeAt = keyTimestamp } = options
  whole('ageMsMax', ageMsMax, 1)
  return {
    ageMsMax,
    check(key) {
      const at = madeAt(key)
      if (at === null || clock.unix() - at <= ageMsMax) return
      throw new RepriseError(KEY_EXPIRED, 'The key is too old')
    },
    checkRetention(retentionMs) {
      if (ageMsMax <= retentionMs) return
      throw invalid(
        `ageMsMax (${ageMsMax}) is longer than retentionMs (${retentionMs}): a request that is forgotten would run again. Lower ageMsMax or raise retentionMs`,
      )
    },
  }
}
