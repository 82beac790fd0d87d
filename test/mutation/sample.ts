/**
 * Which mistakes are tried: all, those of one file, or the same share of each folder by chance.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { Mutant } from './mutants.ts'

/** What a mistake counts to: its folder, and apart from that the SQL and Lua in it. */
export function shareOf({ source, isText }: Mutant): string {
  if (!isText) return source.folder
  return `${source.folder} (${source.folder.endsWith('redis') ? 'Lua' : 'SQL'})`
}

/**
 * As many of each share, as far as there are. The same for the same seed, also when mistakes come or go
 * elsewhere: each has its place in the order by its own name.
 */
export function sampled(
  mutants: readonly Mutant[],
  count: number,
  seed: number,
): readonly Mutant[] {
  const shares = new Map<string, Mutant[]>()
  for (const mutant of mutants) {
    const name = shareOf(mutant)
    shares.set(name, [...(shares.get(name) ?? []), mutant])
  }
  const shuffled = [...shares.values()].map((share) => shuffle(share, seed))
  const chosen: Mutant[] = []
  for (let round = 0; chosen.length < Math.min(count, mutants.length); round++) {
    chosen.push(...shuffled.flatMap((share) => share.slice(round, round + 1)))
  }
  return chosen.slice(0, count)
}

function shuffle(mutants: readonly Mutant[], seed: number): readonly Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, place: placeOf(mutant, seed) }))
    .sort((a, b) => (a.place < b.place ? -1 : 1))
    .map(({ mutant }) => mutant)
}

function placeOf({ name }: Mutant, seed: number): string {
  return createHash('sha256').update(`${seed} ${name}`).digest('hex')
}
