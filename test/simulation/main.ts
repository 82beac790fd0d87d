/**
 * `npm run sim -- --seed 7 | --seeds 1..2000 | --minutes 10 | --mutants [name …]`
 *
 * @module
 */

import { parseArgs } from 'node:util'
import { type FaultRates, optionsOf } from './options.ts'
import { type Part, type Played, playSeed } from './run.ts'
import { replayOf, shrink } from './shrink.ts'

const USAGE = `npm run sim -- --seed 7               one world, with its timeline
npm run sim -- --seeds 1..2000        many worlds
npm run sim -- --minutes 10 [--from 1] as many as there is time for
npm run sim -- --mutants [name …]     planted bugs, and the seed that finds each
  --keep 0,3,5     plays only these acts of the seed
  --off cut,slow   leaves these faults out
  --mutant name    plants a bug
  --hash           prints only the digest of the trace`

/** A request that can not be understood. */
class UsageError extends Error {}

const seen = new Map<string, number>()

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
        ...{ from: { type: 'string' }, keep: { type: 'string' }, off: { type: 'string' } },
        ...{ mutant: { type: 'string' }, mutants: { type: 'boolean' }, hash: { type: 'boolean' } },
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
  return { keep: acts?.map(Number), off: names as (keyof FaultRates)[] }
}

async function player(): Promise<typeof playSeed> {
  const name = parsed().values.mutant
  if (name === undefined) return playSeed
  const [{ MUTANTS }, { withMutant }] = await Promise.all([
    import('./mutants.ts'),
    import('./mutate.ts'),
  ])
  const mutant = MUTANTS.find((one) => one.name === name)
  if (mutant === undefined) throw new UsageError(`There is no planted bug ${name}.`)
  return withMutant(mutant)
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
  const play = await player()
  const began = performance.now()
  let [steps, worlds] = [0, 0]
  for (let seed = from; seed <= to && performance.now() < until; seed++) {
    const played = await play(seed, {}, partOf())
    if (played.violation !== undefined) return report(played, play)
    for (const [what, count] of played.seen) seen.set(what, (seen.get(what) ?? 0) + count)
    steps += played.steps
    worlds++
    if (worlds % 10_000 === 0) console.log(`${worlds} worlds, last seed ${seed}`)
  }
  const seconds = (performance.now() - began) / 1000
  for (const what of [...seen.keys()].sort()) {
    console.log(`${String(seen.get(what)).padStart(9)}  ${what}`)
  }
  console.log(
    `${worlds} worlds from seed ${from}, ${steps} steps, ${seconds.toFixed(1)} s: no violation`,
  )
  return 0
}

async function report({ seed, violation }: Played, play: typeof playSeed): Promise<number> {
  const { mutant } = parsed().values
  console.log(`seed ${seed}: ${violation}\nmaking it smaller …`)
  const part = await shrink(seed, {}, play)
  const small = await play(seed, { isTraced: true }, part)
  console.log(small.lines.join('\n'))
  console.log(`\nseed ${seed}: ${small.violation}`)
  console.log(`again:  ${replayOf(seed, part, mutant)}`)
  console.log(`whole:  ${replayOf(seed, {}, mutant)}`)
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
