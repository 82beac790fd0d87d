/**
 * A process that plays the seeds it is given, range by range.
 *
 * @module
 */

import type { Flaw } from './flaws.ts'
import { type Part, playSeed } from './run.ts'

/** Seeds to play, both ends included. */
export interface SeedRange {
  readonly from: number
  readonly to: number
}

/** What a shard is asked for. */
export interface RangeAsked extends SeedRange {
  readonly part: Part
  readonly flaws: readonly Flaw[]
}

/** What came of a range. */
export interface RangePlayed extends SeedRange {
  readonly steps: number
  readonly seen: ReadonlyMap<string, number>
  readonly failed: readonly { readonly seed: number; readonly violation: string }[]
}

/** Plays a range. */
async function play({ from, to, part, flaws }: RangeAsked): Promise<RangePlayed> {
  const seen = new Map<string, number>()
  const failed: { seed: number; violation: string }[] = []
  let steps = 0
  for (let seed = from; seed <= to; seed++) {
    try {
      const played = await playSeed(seed, { flaws: new Set(flaws) }, part)
      steps += played.steps
      if (played.violation !== undefined) failed.push({ seed, violation: played.violation })
      for (const [what, count] of played.seen) seen.set(what, (seen.get(what) ?? 0) + count)
    } catch (error) {
      failed.push({ seed, violation: String(error instanceof Error ? error.cause : error) })
    }
  }
  return { from, to, steps, seen, failed }
}

process.on('message', (asked: RangeAsked) => {
  void play(asked).then((played) => process.send?.(played))
})
