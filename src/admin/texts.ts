/**
 * Instants and durations in words, the same everywhere.
 *
 * @module
 */

/** An instant, such as `2026-11-16 12:03:11 UTC`. */
export function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`
}

const UNITS: readonly (readonly [name: string, ms: number])[] = [
  ...([
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const),
]

/** A duration, such as `38 s` or `4 min`: the largest unit of which there are two, or one. */
export function duration(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  const [name, unit] = UNITS.find(([, size]) => whole >= 2 * size) ?? ['ms', 1]
  return `${Math.floor(whole / unit)} ${name}`
}

/** How far off something is: rounded, because nobody counts the seconds of a minute to come. */
export function soon(ms: number): string {
  return duration(ms < 120_000 ? ms : Math.round(ms / 60_000) * 60_000)
}

/** A count with its noun, such as `1 try` and `3 tries`. */
export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
