/**
 * Which mistakes are tried: all, those of one file, or the same share of each folder by chance.
 *
 * @module
 */

import type { Mutant } from './mutants.ts'

/** What a mistake counts to: its folder, and apart from that the SQL and Lua in it. */
export function shareOf({ source, isText }: Mutant): string {
  if (!isText) return source.folder
  return `${source.folder} (${source.folder.endsWith('redis') ? 'Lua' : 'SQL'})`
}

/** As many of each share, as far as there are; the same for the same seed. */
export function sampled(
  mutants: readonly Mutant[],
  count: number,
  seed: number,
): readonly Mutant[] {
  const chance = chanceOf(seed)
  const shares = new Map<string, Mutant[]>()
  for (const mutant of mutants) {
    const name = shareOf(mutant)
    shares.set(name, [...(shares.get(name) ?? []), mutant])
  }
  const shuffled = [...shares.values()].map((share) => shuffle(share, chance))
  const total = shuffled.reduce((sum, share) => sum + share.length, 0)
  const chosen: Mutant[] = []
  for (let round = 0; chosen.length < Math.min(count, total); round++) {
    chosen.push(...shuffled.flatMap((share) => share.slice(round, round + 1)))
  }
  return chosen.slice(0, count)
}

function shuffle(mutants: readonly Mutant[], chance: () => number): readonly Mutant[] {
  return mutants
    .map((mutant) => ({ mutant, place: chance() }))
    .sort((a, b) => a.place - b.place)
    .map(({ mutant }) => mutant)
    .filter(({ isReplaced }) => !isReplaced)
}

/** Numbers from 0 to 1, by a linear congruential generator of 32 bits. */
function chanceOf(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
