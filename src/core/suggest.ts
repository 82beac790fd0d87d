/**
 * What somebody may have meant.
 *
 * @module
 */

/** More typing mistakes than this are another word. */
const DISTANCE_MAX = 2

/** The one of `known` that is nearest to `typed`, if any is near. */
export function closest(typed: string, known: readonly string[]): string | undefined {
  const near = known
    .map((word) => ({ word, distance: distance(typed, word) }))
    .filter(({ word, distance }) => isNear(typed, word, distance))
    .sort((a, b) => a.distance - b.distance)
  return near[0]?.word
}

/** A beginning of three letters counts as well: `mig` for `migrate`. */
function isNear(typed: string, word: string, distance: number): boolean {
  if (typed.length >= 3 && word.startsWith(typed)) return true
  return distance <= DISTANCE_MAX && distance < word.length
}

/** How many letters have to be added, removed, changed or swapped. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const next = [row]
    for (let column = 1; column <= b.length; column++) {
      const isSame = a[row - 1] === b[column - 1]
      const isSwap =
        row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      next[column] = Math.min(
        (next[column - 1] ?? 0) + 1,
        (last[column] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (before[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      )
    }
    before = last
    last = next
  }
  return last[b.length] ?? 0
}
