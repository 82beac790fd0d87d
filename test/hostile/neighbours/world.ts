/**
 * Worlds: an app of a framework with neighbours of the protection before and behind it, a way to answer,
 * and a client. The same seed makes the same world.
 *
 * @module
 */

import type { Reprise } from '../../../src/engine/reprise.ts'
import type { Listening } from '../../adapters/listen.ts'
import { Chance } from '../../engine/chance.ts'
import type { adapters } from './adapters.ts'

/** The adapters that are tried, or a copy of them with a mistake planted. */
export type Adapters = typeof adapters

/** What a client sends besides its request. */
export interface Client {
  readonly acceptEncoding: string | null
  /** Whether all requests go over one connection. */
  readonly keepAlive: boolean
  /** Whether it names the entity tag of the answer that it has. */
  readonly ifNoneMatch: boolean
}

/** One app and its client. */
export interface World {
  readonly seed: number
  readonly framework: string
  /** Neighbours in front of the protection, the outermost first. */
  readonly before: readonly string[]
  /** Neighbours between the protection and the handler, the outermost first. */
  readonly behind: readonly string[]
  /** How the handler answers. */
  readonly way: string
  /** Whether its body is long enough for compressors. */
  readonly isLarge: boolean
  readonly client: Client
}

/** What an app is served with. */
export interface Serving {
  readonly world: World
  /** `null` for the twin without protection. */
  readonly reprise: Reprise | null
  readonly adapters: Adapters
  /** Told of each run of the handler. */
  readonly onEffect: () => void
}

/** A framework, its neighbours and ways to answer. */
export interface Framework {
  readonly name: string
  readonly neighbours: readonly string[]
  /** Those that can only be in front. */
  readonly onlyBefore?: readonly string[]
  readonly ways: readonly string[]
  serve(serving: Serving): Promise<Listening>
}

const NEIGHBOURS_MAX = 4

/** The world of a seed. */
export function worldOf(seed: number, frameworks: readonly Framework[]): World {
  const chance = new Chance(seed)
  const { name, neighbours, onlyBefore = [], ways } = oneOf(chance, frameworks)
  const before: string[] = []
  const behind: string[] = []
  const count = Math.floor(chance.fraction() * (NEIGHBOURS_MAX + 1))
  for (let at = 0; at < count; at++) {
    const neighbour = oneOf(chance, [...neighbours, ...onlyBefore])
    const isBefore = chance.happens(0.5) || onlyBefore.includes(neighbour)
    // Two of a kind in one app are a mistake of the app: two sessions have one `request.session`.
    if ([...before, ...behind].some((one) => kindOf(one) === kindOf(neighbour))) continue
    if (isBefore) before.push(neighbour)
    else behind.push(neighbour)
  }
  const client = {
    acceptEncoding: chance.pick(null, 'gzip', 'gzip, deflate, br', 'identity'),
    keepAlive: chance.happens(0.5),
    ifNoneMatch: chance.happens(0.2),
  }
  const way = oneOf(chance, ways)
  return { seed, framework: name, before, behind, way, isLarge: chance.happens(0.5), client }
}

/** What a neighbour is, whatever its settings. */
function kindOf(neighbour: string): string {
  return /session|compress|envelope/.exec(neighbour)?.[0] ?? neighbour
}

function oneOf<T>(chance: Chance, list: readonly T[]): T {
  const [first, ...rest] = list
  if (first === undefined) throw new RangeError('There is nothing to choose from')
  return chance.pick(first, ...rest)
}

/** Worlds that are a little smaller: one neighbour less, or a simpler client. */
export function* smallerWorlds(world: World): Iterable<World> {
  for (const name of world.before) {
    yield { ...world, before: world.before.filter((one) => one !== name) }
  }
  for (const name of world.behind) {
    yield { ...world, behind: world.behind.filter((one) => one !== name) }
  }
  const { client } = world
  if (client.ifNoneMatch) yield { ...world, client: { ...client, ifNoneMatch: false } }
  if (client.keepAlive) yield { ...world, client: { ...client, keepAlive: false } }
  if (client.acceptEncoding !== null) {
    yield { ...world, client: { ...client, acceptEncoding: null } }
  }
  if (world.isLarge) yield { ...world, isLarge: false }
}

/** A world in a line. */
export function inWords(world: World): string {
  const { seed, framework, before, behind, way, isLarge, client } = world
  const chain = [...before, 'PROTECTION', ...behind, `${way}${isLarge ? ' (large)' : ''}`]
  return `seed ${seed}: ${framework}: ${chain.join(' → ')}; client ${JSON.stringify(client)}`
}

const LINE = { id: 1, name: 'grüße', note: 'the same words again and again' }

/** What handlers answer with. */
export function valueIn({ isLarge }: World): object {
  return isLarge ? { items: Array.from({ length: 80 }, () => LINE) } : LINE
}

/** The same as a text. */
export function textIn(world: World): string {
  return JSON.stringify(valueIn(world))
}

/** The same in pieces. */
export function piecesIn(world: World): readonly Buffer[] {
  const bytes = Buffer.from(textIn(world))
  const half = Math.floor(bytes.byteLength / 2)
  return [bytes.subarray(0, half), bytes.subarray(half)]
}
