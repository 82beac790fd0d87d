/**
 * How the provider behaves, as told over its control port.
 *
 * @module
 */

/** What can be wrong with the provider. */
export const MODES = ['fine', 'down', 'slow', 'cut-before', 'cut-after'] as const

/** One of {@link MODES}. */
export type Mode = (typeof MODES)[number]

/** The position of every switch. */
export interface Switches {
  /**
   * `down` refuses connections; `slow` answers late; `cut-before` cuts the connection before anything
   * is done, `cut-after` when it is done and before the answer.
   */
  readonly mode: Mode
  /** How late `slow` answers, in milliseconds. */
  readonly slow_ms: number
  /** How many requests the mode is for, after which all is fine; `null` until it is switched. */
  readonly times: number | null
  /** Whether a key that was seen before gets its first answer again. */
  readonly honours_keys: boolean
}

/** The provider as it should be. */
export const ALL_FINE: Switches = { mode: 'fine', slow_ms: 3000, times: null, honours_keys: true }

/**
 * The switches with some of them changed.
 *
 * @returns the switches, or what is wrong with the change
 */
export function change(
  switches: Switches,
  changes: Readonly<Record<string, unknown>>,
): Switches | { readonly problem: string } {
  const next = { ...switches, times: null, ...changes }
  const unknown = Object.keys(changes).find((name) => !(name in ALL_FINE))
  if (unknown !== undefined) return { problem: `There is no switch ${unknown}.` }
  const mode = MODES.find((known) => known === next.mode)
  if (mode === undefined) return { problem: `mode is one of ${MODES.join(', ')}.` }
  const { slow_ms, times, honours_keys } = next
  if (!isCount(slow_ms, 0)) return { problem: 'slow_ms is a whole number of milliseconds.' }
  if (times !== null && !isCount(times, 1)) return { problem: 'times is a whole number, or null.' }
  if (typeof honours_keys !== 'boolean') return { problem: 'honours_keys is true or false.' }
  return { mode, slow_ms, times, honours_keys }
}

function isCount(value: unknown, least: number): value is number {
  return Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= 600_000
}
