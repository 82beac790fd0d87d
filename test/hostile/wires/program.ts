/**
 * What is done on a hostile wire, made from a seed: which library and mode, which requests, what happens
 * to the messages in general, and at which of them the connection ends.
 *
 * @module
 */

import { Chance } from '../../engine/chance.ts'
import type { Direction } from './protocol.ts'
import type { Deed, Moment } from './proxy.ts'

/** A client library, as it is set up. */
export type Library = 'pg' | 'pg-pipeline' | 'postgres.js' | 'node-redis' | 'ioredis'

/** How requests are protected. */
export type Mode = 'first' | 'with-first-statement' | 'lease' | 'phases'

/** What is sent under the one key of the program; each waits for the one before. */
export type Step = 'once' | 'twice at once' | 'another body' | 'both bodies at once'

/**
 * How the handler goes about its two statements: one after the other; the second in a savepoint; the second
 * once more on the same transaction as soon as it failed; both at once, and waiting for both.
 */
export type Manner = 'plain' | 'savepoint' | 'stubborn' | 'at once'

/** What happens to messages that meet no fault. */
export type Weather = 'calm' | 'joined' | 'split' | 'mixed'

/** One end of a connection, or one delay, at one message. */
export interface Fault extends Omit<Moment, 'type'> {
  readonly deed: Deed
}

/** A program. */
export interface Program {
  readonly seed: number
  readonly library: Library
  readonly mode: Mode
  readonly manner: Manner
  readonly waitMs: number
  readonly weather: Weather
  readonly steps: readonly Step[]
  readonly faults: readonly Fault[]
}

/** Libraries that have transactions. */
const ON_POSTGRES: readonly Library[] = ['pg', 'pg-pipeline', 'postgres.js']

/** Whether the library is one of PostgreSQL. */
export function isOnPostgres(library: Library): boolean {
  return ON_POSTGRES.includes(library)
}

/** The program of a seed; all seeds together go through every library and mode. */
export function programOf(seed: number, only: readonly Library[] = []): Program {
  const chance = new Chance(seed)
  // The first numbers of neighbouring seeds are alike.
  for (let i = 0; i < 4; i++) chance.fraction()
  const [first = 'pg', ...rest] = only
  const library = only.length > 0 ? chance.pick(first, ...rest) : libraryOf(chance)
  const mode = isOnPostgres(library)
    ? chance.pick<Mode>('first', 'with-first-statement', 'lease', 'phases')
    : 'lease'
  return {
    ...{ seed, library, mode, waitMs: chance.pick(0, 0, 150) },
    weather: chance.pick<Weather>('calm', 'joined', 'split', 'mixed'),
    steps: some(chance, 3, () =>
      chance.pick<Step>('once', 'once', 'twice at once', 'another body', 'both bodies at once'),
    ),
    faults: some(chance, 5, () => faultOf(chance, library)),
    manner: chance.pick<Manner>('plain', 'savepoint', 'stubborn', 'at once'),
  }
}

function libraryOf(chance: Chance): Library {
  return chance.pick<Library>(
    ...(['pg', 'pg', 'pg-pipeline', 'pg-pipeline', 'pg-pipeline'] as const),
    ...(['postgres.js', 'postgres.js', 'node-redis', 'ioredis'] as const),
  )
}

function some<T>(chance: Chance, max: number, make: () => T): readonly T[] {
  return Array.from({ length: 1 + Math.floor(chance.fraction() * max) }, make)
}

function faultOf(chance: Chance, library: Library): Fault {
  const from = chance.pick<Direction>('client', 'server')
  // Connections begin with messages that all have in common; most of the others come early as well.
  const indexMax = chance.pick(10, 25, 25, 45)
  return {
    connection: chance.pick(0, 0, 0, 0, 1, 1, 2),
    from,
    index: Math.floor(chance.fraction() * indexMax),
    deed: deedOf(chance, library),
  }
}

function deedOf(chance: Chance, library: Library): Deed {
  const isTerminated = isOnPostgres(library) && chance.happens(0.3)
  if (isTerminated) return { do: 'terminate' }
  if (chance.happens(0.1)) return { do: 'delay', ms: chance.pick(5, 50) }
  return {
    do: 'cut',
    where: chance.pick('before', 'inside', 'after'),
    how: chance.pick('end', 'reset'),
  }
}

/** What the program has happen to a message: the same whatever came before on other connections. */
export function deedAt(program: Program, moment: Moment): Deed {
  const { connection, from, index } = moment
  const fault = program.faults.find(
    (one) => one.connection === connection && one.from === from && one.index === index,
  )
  return fault?.deed ?? weatherAt(program, moment)
}

function weatherAt({ seed, weather }: Program, { connection, from, index }: Moment): Deed {
  if (weather === 'calm') return { do: 'pass' }
  const place = connection * 10_000 + index * 2 + (from === 'client' ? 1 : 0)
  const chance = new Chance(seed * 1_000_003 + place)
  for (let i = 0; i < 3; i++) chance.fraction()
  const kind =
    weather === 'mixed' ? chance.pick('joined', 'split', 'delayed', 'calm', 'calm') : weather
  if (kind === 'joined') return { do: 'join', count: chance.pick(1, 2, 5) }
  if (kind === 'split') return { do: 'split', bytes: chance.pick(1, 3, 7) }
  return kind === 'delayed' ? { do: 'delay', ms: 1 } : { do: 'pass' }
}

/** Programs that do less, of which one may fail as well. */
export function smaller(program: Program): readonly Program[] {
  const { faults, steps, weather, waitMs, manner } = program
  const without = <T>(all: readonly T[], index: number) => all.filter((_, at) => at !== index)
  return [
    ...(weather === 'calm' ? [] : [{ ...program, weather: 'calm' as const }]),
    ...(waitMs === 0 ? [] : [{ ...program, waitMs: 0 }]),
    ...(manner === 'plain' ? [] : [{ ...program, manner: 'plain' as const }]),
    ...faults.map((_, index) => ({ ...program, faults: without(faults, index) })),
    ...(steps.length === 1
      ? []
      : steps.map((_, index) => ({ ...program, steps: without(steps, index) }))),
  ]
}
