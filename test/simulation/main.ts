/**
 * `npm run sim -- --seed 7 | --seeds 1..2000 | --minutes 10 | --mutants [name …]`
 *
 * @module
 */

import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { FEATURES, type Feature } from './features.ts'
import type { Mutant } from './mutants.ts'
import { type FaultRates, optionsOf } from './options.ts'
import { type Part, playSeed } from './run.ts'
import { replayOf, shrink } from './shrink.ts'
import { Tally } from './tally.ts'

const USAGE = `npm run sim -- --seed 7               one world, with its timeline
npm run sim -- --seeds 1..2000        many worlds
npm run sim -- --minutes 10 [--from 1] as many as there is time for
  --processes 2    in so many processes; one for each core unless given
npm run sim -- --mutants [name …]     planted bugs, and the seed that finds each
  --keep 0,3,5     plays only these acts of the seed
  --off cut,slow   leaves these faults out
  --without "renames,late calls"   leaves these features out; \`none\` leaves in also what is switched off
  --mutant name    plants a bug
  --hash           prints only the digest of the trace`

/** A request that can not be understood. */
class UsageError extends Error {}

async function main(): Promise<number> {
  const { values, positionals } = parsed()
  if (values.mutants) return mutants(positionals)
  if (values.seed !== undefined) return one(wholeNumber('--seed', values.seed))
  const { from, to } = rangeOf(values.seeds, values.from)
  const until = values.minutes === undefined ? Infinity : minutes(values.minutes)
  if (values.seeds === undefined && values.minutes === undefined) throw new UsageError(USAGE)
  return many(from, to, performance.now() + until)
}

function parsed() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        ...{ seed: { type: 'string' }, seeds: { type: 'string' }, minutes: { type: 'string' } },
        processes: { type: 'string' },
        ...{ from: { type: 'string' }, keep: { type: 'string' }, off: { type: 'string' } },
        ...{
          without: { type: 'string' },
          mutant: { type: 'string' },
          mutants: { type: 'boolean' },
          hash: { type: 'boolean' },
        },
      },
    })
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : ''}\n${USAGE}`)
  }
}

function wholeNumber(name: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number > 0) return number
  throw new UsageError(`${name} takes a whole number from 1, not ${text}.`)
}

function minutes(text: string): number {
  const number = Number(text)
  if (number > 0) return number * 60_000
  throw new UsageError(`--minutes takes a number above 0, not ${text}.`)
}

function rangeOf(seeds: string | undefined, first: string | undefined) {
  if (seeds === undefined) {
    return { from: first === undefined ? 1 : wholeNumber('--from', first), to: Infinity }
  }
  const [, from, to] = /^(\d+)\.\.(\d+)$/.exec(seeds) ?? []
  if (from === undefined || to === undefined) {
    throw new UsageError(`--seeds takes two numbers, as in 1..2000, not ${seeds}.`)
  }
  return { from: wholeNumber('--seeds', from), to: wholeNumber('--seeds', to) }
}

function partOf(): Part {
  const { keep, off } = parsed().values
  const names = off === undefined ? [] : off.split(',')
  const known = Object.keys(optionsOf(1).rates)
  const wrong = names.find((name) => !known.includes(name))
  if (wrong !== undefined) {
    throw new UsageError(`--off: there is no fault ${wrong}; there are ${known.join(', ')}.`)
  }
  const acts = keep?.split(',').filter((text) => text !== 'none')
  // The names were looked up.
  return { keep: acts?.map(Number), off: names as (keyof FaultRates)[], without: withoutOf() }
}

function withoutOf(): readonly Feature[] | undefined {
  const { without } = parsed().values
  if (without === undefined || without === 'none') return without === undefined ? without : []
  return without.split(',').map((name) => {
    const feature = FEATURES.find((one) => one === name)
    if (feature !== undefined) return feature
    throw new UsageError(`--without: there is no ${name}; there are ${FEATURES.join(', ')}.`)
  })
}

async function mutantOf(): Promise<Mutant | undefined> {
  const name = parsed().values.mutant
  if (name === undefined) return undefined
  const { MUTANTS } = await import('./mutants.ts')
  const mutant = MUTANTS.find((one) => one.name === name)
  if (mutant === undefined) throw new UsageError(`There is no planted bug ${name}.`)
  return mutant
}

async function player(): Promise<typeof playSeed> {
  const mutant = await mutantOf()
  return mutant === undefined ? playSeed : (await import('./mutate.ts')).withMutant(mutant)
}

async function one(seed: number): Promise<number> {
  const play = await player()
  const played = await play(seed, { isTraced: true }, partOf())
  if (parsed().values.hash === true) {
    console.log(played.hash)
    return 0
  }
  console.log(played.lines.join('\n'))
  console.log(`\nseed ${seed}: ${played.violation ?? 'all is well'}`)
  console.log(`${played.steps} steps, trace ${played.hash.slice(0, 16)}`)
  return played.violation === undefined ? 0 : 1
}

async function many(from: number, to: number, until: number): Promise<number> {
  const { processes } = parsed().values
  const { playShards } = await import('./shards.ts')
  const tally = new Tally()
  await playShards({
    ...{ from, to, part: partOf(), mutant: await mutantOf() },
    processes:
      processes === undefined ? availableParallelism() : wholeNumber('--processes', processes),
    goesOn: () => performance.now() < until,
    onPlayed: (played) => tally.add(played),
  })
  tally.print()
  const [first] = tally.failed
  return first === undefined ? 0 : report(first.seed)
}

async function report(seed: number): Promise<number> {
  const { mutant } = parsed().values
  const play = await player()
  console.log(`making seed ${seed} smaller …`)
  const part = await shrink(seed, {}, { play, without: withoutOf() })
  const small = await play(seed, { isTraced: true }, part)
  console.log(small.lines.join('\n'))
  console.log(`\nseed ${seed}: ${small.violation}`)
  console.log(`again:  ${replayOf(seed, part, mutant)}`)
  console.log(`whole:  ${replayOf(seed, { without: withoutOf() }, mutant)}`)
  return 1
}

async function mutants(names: readonly string[]): Promise<number> {
  const { MUTANTS } = await import('./mutants.ts')
  const { hunt } = await import('./mutate.ts')
  const chosen = MUTANTS.filter(({ name }) => names.length === 0 || names.includes(name))
  let missed = 0
  for (const mutant of chosen) {
    const { seed, violation } = await hunt(mutant, { from: 1, to: 1000 })
    if (seed === undefined) missed++
    const found = seed === undefined ? 'NOT FOUND in 1000 seeds' : `seed ${seed}: ${violation}`
    console.log(`${mutant.name.padEnd(26)} ${mutant.what}\n${''.padEnd(26)} ${found}`)
  }
  console.log(`${chosen.length - missed} of ${chosen.length} planted bugs found`)
  return missed === 0 ? 0 : 1
}

try {
  process.exitCode = await main()
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(error.message)
  process.exitCode = 2
}
