/**
 * When the completer takes up what was left unfinished, and when it gives up: every default in one
 * place.
 *
 * @module
 */

import { whole } from '../core/options.ts'
import type { Patience } from '../engine/work.ts'

/** How long what is unfinished is left alone unless told otherwise, in milliseconds. */
export const GRACE_MS = 300_000

/** When unfinished work is taken up. */
export interface CompleterOptions {
  /**
   * How long the client is left to retry by itself, from the first request, in milliseconds.
   *
   * @default 300000 (5 minutes)
   */
  readonly graceMs?: number
  /**
   * Pause after the last try, in milliseconds; doubles with each try of the completer.
   *
   * @default 60000
   */
  readonly retryMs?: number
  /**
   * The longest pause, in milliseconds.
   *
   * @default 3600000 (an hour)
   */
  readonly retryMsMax?: number
  /**
   * How often the completer tries before it is put before a person.
   *
   * @default 25
   */
  readonly triesMax?: number
}

/** The same with nothing left open. */
export interface CompleterPatience extends Patience {
  readonly triesMax: number
}

/**
 * Fills in the defaults.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function resolvePatience(options: CompleterOptions = {}): CompleterPatience {
  const { graceMs = GRACE_MS, retryMs = 60_000, retryMsMax = 3_600_000, triesMax = 25 } = options
  return {
    graceMs: whole('completer.graceMs', graceMs, 0),
    retryMs: whole('completer.retryMs', retryMs, 0),
    retryMsMax: whole('completer.retryMsMax', retryMsMax, 0),
    triesMax: whole('completer.triesMax', triesMax, 1),
  }
}
