/**
 * Makes a failing world small: as few acts and kinds of faults as it takes to fail in the same way.
 *
 * @module
 */

import type { FaultRates } from './options.ts'
import { optionsOf } from './options.ts'
import { type Part, type Played, playSeed } from './run.ts'
import type { WorldSettings } from './world.ts'

/** The smallest part of the seed's world that was found to fail as the whole does. */
export async function shrink(
  seed: number,
  settings: WorldSettings,
  { play = playSeed, without }: { play?: typeof playSeed } & Pick<Part, 'without'> = {},
): Promise<Part> {
  const whole = await play(seed, settings, { without })
  const failsAlike = async (part: Part) =>
    isAlike(await play(seed, settings, { ...part, without }), whole)
  const { acts, rates } = optionsOf(seed, without && new Set(without))
  let off: (keyof FaultRates)[] = []
  // The names of the rates are what their type says.
  for (const name of Object.keys(rates) as (keyof FaultRates)[]) {
    const less = [...off, name]
    if (rates[name] === 0 || (await failsAlike({ off: less }))) off = less
  }
  let keep = acts.map((_, at) => at)
  for (
    let size = Math.ceil(keep.length / 2);
    size >= 1;
    size = size > 1 ? Math.ceil(size / 2) : 0
  ) {
    for (let at = 0; at < keep.length; ) {
      const less = [...keep.slice(0, at), ...keep.slice(at + size)]
      if (await failsAlike({ keep: less, off })) keep = less
      else at += size
    }
  }
  return { keep, off: off.filter((name) => rates[name] > 0), without }
}

/** The command that plays it again. */
export function replayOf(seed: number, { keep, off = [], without }: Part, mutant?: string): string {
  const parts = [
    `npm run sim -- --seed ${seed}`,
    ...(keep === undefined ? [] : [`--keep ${keep.join(',') || 'none'}`]),
    ...(off.length === 0 ? [] : [`--off ${off.join(',')}`]),
    ...(without === undefined ? [] : [`--without "${without.join(',') || 'none'}"`]),
    ...(mutant === undefined ? [] : [`--mutant ${mutant}`]),
  ]
  return parts.join(' ')
}

/** The same violation, whatever the numbers in it are. */
function isAlike(one: Played, other: Played): boolean {
  const kindOf = ({ violation }: Played) => violation?.replaceAll(/\d+|"[^"]*"/g, '')
  return one.violation !== undefined && kindOf(one) === kindOf(other)
}
