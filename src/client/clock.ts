/**
 * Time and chance of the client. The engine's ports lie on Node's modules; these are the same shapes
 * on what browsers have as well, and the only place in `src/client` that touches either.
 *
 * @module
 */

/** Cancels a timer that has not fired. */
export type Cancel = () => void

/** The client's own time. */
export interface Clock {
  /** Milliseconds on a clock that never goes back; the zero is arbitrary. */
  now(): number
  /** Calls `callback` once after `ms` milliseconds, unless cancelled. */
  after(ms: number, callback: () => void): Cancel
  /** Milliseconds since 1970: the age of a key outlives the process. */
  unix(): number
}

/** Chance. */
export interface Random {
  /** That many random bytes, fit for keys. */
  bytes(length: number): Uint8Array
  /** A number in [0, 1), for jitter. */
  fraction(): number
}

/** Longer delays overflow the timer and would fire at once. */
const DELAY_MS_MAX = 2_147_483_647

/** The real time. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(ms, DELAY_MS_MAX))
    return () => clearTimeout(timer)
  },
  unix: () => Date.now(),
}

/** Real chance. Works also on pages that are not a secure context, unlike `randomUUID`. */
export const systemRandom: Random = {
  bytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
  fraction: () => Math.random(),
}
