/**
 * How many fresh keys a caller may bring in which time.
 *
 * A key counts from the making of its record, under a quota, for as long as that quota says and the
 * record is there. What finds a record of its own in place is never refused: replays and conflicts
 * are free.
 *
 * @module
 */

/** How many fresh keys a caller may bring in which time. */
export interface Quota {
  /** So many keys of a caller count at a time; the next fresh one is refused. From 1 to 10000. */
  readonly keys: number
  /** For how long a key counts, in milliseconds; from 1, and at most `retentionMs`. */
  readonly perMs: number
}

/** The most keys that a quota may allow: they are counted one by one, a thousand in a millisecond. */
export const QUOTA_KEYS_MAX = 10_000

/** What a claim brings that takes up a record and makes none: fresh keys have no room. */
export const NO_KEYS: Quota = { keys: 0, perMs: 1 }

/**
 * How long until a fresh key has room, in milliseconds; 0 when there is room now.
 *
 * @param counted - until when each key of the caller counts
 */
export function roomInMs(counted: readonly number[], quota: Quota, now: number): number {
  const { keys, perMs } = quota
  if (keys < 1) return perMs
  // When this one no longer counts, one less than the quota does.
  const last = counted.toSorted((one, other) => other - one)[keys - 1] ?? now
  return Math.max(0, last - now)
}
