/**
 * Time and chance as ports: the only places in `src` that touch timers, the process's clock or
 * random numbers, so that tests and simulations can put their own in.
 *
 * @module
 */

import { randomBytes, randomFillSync } from 'node:crypto'

/** Cancels a timer that has not fired. */
export type Cancel = () => void

/** The process's own time. Decides how long *we* wait; never whether a lease or a record holds. */
export interface Clock {
  /** Milliseconds on a clock that never goes back; the zero is arbitrary. */
  now(): number
  /** Calls `callback` once after `ms` milliseconds, unless cancelled. */
  after(ms: number, callback: () => void): Cancel
  /** Milliseconds since 1970. Only the age of time-based keys is judged by it. */
  unix(): number
}

/** Chance. */
export interface Random {
  /** A token of 128 random bits, 22 characters. */
  token(): string
  /** That many random bytes, fit for a cipher. */
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

const TOKEN_BYTES = 16
/** Chance for tokens, drawn for many at once: to ask the system for each costs more than all the rest. */
const drawn: Buffer = Buffer.alloc(256 * TOKEN_BYTES)
let drawnAt = drawn.length

function drawToken(): string {
  if (drawnAt === drawn.length) {
    randomFillSync(drawn)
    drawnAt = 0
  }
  const start = drawnAt
  drawnAt += TOKEN_BYTES
  return drawn.toString('base64url', start, drawnAt)
}

/** Real chance. */
export const systemRandom: Random = {
  token: drawToken,
  bytes: (length) => randomBytes(length),
  fraction: () => randomBytes(4).readUInt32BE() / 0x1_0000_0000,
}
