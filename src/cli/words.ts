/**
 * Numbers and times in words.
 *
 * @module
 */

/** `1 step`, `2 steps`. */
export function plural(count: number, one: string, many: string = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${count === 1 ? one : many}`
}

/** A duration in its two largest units: `3 h 20 min`. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`
  const seconds = Math.round(ms / 1000)
  const units: readonly (readonly [size: number, name: string])[] = [
    [86_400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ]
  const first = units.findIndex(([size]) => seconds >= size)
  const parts = units.slice(first, first + 2).map(([size, name], at) => {
    const above = at === 0 ? Number.POSITIVE_INFINITY : (units[first]?.[0] ?? 1)
    const amount = Math.floor((seconds % above) / size)
    return amount === 0 && at > 0 ? '' : `${amount} ${name}`
  })
  return parts.filter((part) => part !== '').join(' ')
}

/** An instant, in the form that sorts. */
export function instant(ms: number | null): string {
  return ms === null
    ? '-'
    : new Date(ms)
        .toISOString()
        .replace('T', ' ')
        .replace(/\.\d+Z$/, 'Z')
}
