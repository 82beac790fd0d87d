/**
 * Plays worlds by seed, and makes one that fails as small as it can be.
 *
 * @module
 */

import { adapters as own } from './adapters.ts'
import { frameworks as ofExpress } from './express.ts'
import { fastifyFramework } from './fastify.ts'
import { hono } from './hono.ts'
import { violationIn } from './judge.ts'
import { koa } from './koa.ts'
import { ofNest } from './nest.ts'
import { type Adapters, inWords, smallerWorlds, type World, worldOf } from './world.ts'

const FRAMEWORKS = [...ofExpress, koa, fastifyFramework, hono, ...ofNest]

/** A world that is not as it should be. */
export interface Finding {
  readonly seed: number
  readonly world: World
  readonly violation: string
}

/** Plays the world of a seed; a finding is made small. */
export async function playSeed(
  seed: number,
  adapters: Adapters = own,
): Promise<Finding | undefined> {
  const world = worldOf(seed, FRAMEWORKS)
  const violation = await play(world, adapters)
  return violation === undefined ? undefined : shrink({ seed, world, violation }, adapters)
}

async function shrink(finding: Finding, adapters: Adapters): Promise<Finding> {
  for (const world of smallerWorlds(finding.world)) {
    const violation = await play(world, adapters)
    if (violation !== undefined) return shrink({ ...finding, world, violation }, adapters)
  }
  return finding
}

async function play(world: World, adapters: Adapters): Promise<string | undefined> {
  const framework = FRAMEWORKS.find(({ name }) => name === world.framework)
  if (framework === undefined) throw new RangeError(`There is no ${world.framework}`)
  try {
    return await violationIn(world, framework, adapters)
  } catch (error) {
    return `the world broke: ${String(error)}`
  }
}

/** A finding in words, with the command that plays it again. */
export function told({ seed, world, violation }: Finding): string {
  return `${inWords(world)}\n  ${violation}\n  again: npm run neighbours -- --seed ${seed}`
}
