import { Violation } from './checks.ts'
import type { Feature } from './features.ts'
import type { FaultRates, WorldOptions } from './options.ts'
import { optionsOf } from './options.ts'
import { World, type WorldSettings } from './world.ts'

/** Which part of a seed's world is played; the rest is left out. */
export interface Part {
  /** Acts, by their place from 0; all of them unless given. */
  readonly keep?: readonly number[] | undefined
  /** Faults that do not happen. */
  readonly off?: readonly (keyof FaultRates)[] | undefined
  /** Features that the world does not have; those that are switched off unless given. */
  readonly without?: readonly Feature[] | undefined
}

/** How a world ended. */
export interface Played {
  readonly seed: number
  /** What was violated; `undefined` when all went well. */
  readonly violation: string | undefined
  readonly steps: number
  readonly seen: ReadonlyMap<string, number>
  readonly options: WorldOptions
  readonly lines: readonly string[]
  /** Digest of the trace. */
  readonly hash: string
}

/** Plays the world of a seed, or a part of it. */
export async function playSeed(
  seed: number,
  settings: WorldSettings = {},
  part: Part = {},
): Promise<Played> {
  const options = partOf(optionsOf(seed, part.without && new Set(part.without)), part)
  const world = new World(options, settings)
  const violation = await violationOf(world, settings)
  const { trace, scheduler, checks } = world
  return {
    ...{ seed, violation, options, steps: scheduler.steps, seen: checks.seen },
    ...{ lines: trace.lines, hash: trace.hash },
  }
}

async function violationOf(
  world: World,
  { isTraced = false }: WorldSettings,
): Promise<string | undefined> {
  const { stackTraceLimit } = Error
  // Where errors are made is only asked when somebody reads it: it takes longer than to make them.
  if (!isTraced) Error.stackTraceLimit = 0
  try {
    await world.play()
    return undefined
  } catch (error) {
    if (error instanceof Violation) return error.message
    throw new Error(`Seed ${world.options.seed} broke the simulation itself.`, { cause: error })
  } finally {
    Error.stackTraceLimit = stackTraceLimit
  }
}

function partOf(options: WorldOptions, { keep, off = [] }: Part): WorldOptions {
  const silenced = Object.fromEntries(off.map((name) => [name, 0]))
  const acts = keep === undefined ? options.acts : options.acts.filter((_, at) => keep.includes(at))
  return { ...options, acts, rates: { ...options.rates, ...silenced } }
}
