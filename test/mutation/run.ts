/**
 * A run over mistakes, and its report.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Chooser } from './choose.ts'
import { knownMutants } from './known.ts'
import type { Chosen } from './lane.ts'
import { Lane } from './lanes.ts'
import { allMutants, type Mutant } from './mutants.ts'
import { recordReach } from './record.ts'
import { Results } from './results.ts'
import { sampled, shareOf } from './sample.ts'
import { readSources, type Source } from './source.ts'
import { Trial, type Verdict } from './trial.ts'

/** What is to be tried. */
export interface RunOptions {
  readonly sample: number | undefined
  readonly seed: number
  readonly only: string | undefined
  readonly match: string | undefined
  readonly isKnown: boolean
  readonly isFresh: boolean
  readonly isList: boolean
  readonly processes: number
}

/** Mistakes that tests do not notice, each with the reason. */
interface Survivors {
  /** Nothing that anybody can observe is different. */
  readonly equivalent: Readonly<Record<string, string>>
  /** Something is different, and no test shows it. */
  readonly unnoticed: Readonly<Record<string, string>>
}

/** Tries mistakes, prints what became of them, and returns the exit code. */
export async function runMutants(options: RunOptions): Promise<number> {
  const sources = readSources()
  const all = allMutants(sources)
  const known = knownMutants(sources)
  const mutants = options.isKnown ? [...known.keys()] : chosenOf(all, options)
  if (options.isList) {
    for (const { name } of mutants) console.log(name)
    return 0
  }
  const started = performance.now()
  const tests = options.isKnown ? known : await testsOf(mutants, sources)
  const verdicts = await tryAll(tests, options)
  const minutes = ((performance.now() - started) / 60_000).toFixed(1)
  return report(all, verdicts, minutes)
}

function chosenOf(all: readonly Mutant[], options: RunOptions): readonly Mutant[] {
  const { sample, seed, only, match } = options
  const inFiles = all.filter(({ source, name, isReplaced }) => {
    return !isReplaced && source.path.includes(only ?? '') && name.includes(match ?? '')
  })
  return sample === undefined ? inFiles : sampled(inFiles, sample, seed)
}

async function testsOf(
  mutants: readonly Mutant[],
  sources: readonly Source[],
): Promise<ReadonlyMap<Mutant, readonly Chosen[]>> {
  const chooser = new Chooser(await recordReach((line) => console.log(line)), sources)
  return new Map(mutants.map((mutant) => [mutant, chooser.choose(mutant)]))
}

type Verdicts = ReadonlyMap<Mutant, Verdict>

async function tryAll(
  mutants: ReadonlyMap<Mutant, readonly Chosen[]>,
  options: RunOptions,
): Promise<Verdicts> {
  const results = new Results({ isFresh: options.isFresh, isKept: !options.isKnown })
  const verdicts = new Map<Mutant, Verdict>()
  const todo: { mutant: Mutant; tests: readonly Chosen[] }[] = []
  for (const [mutant, tests] of mutants) {
    const known = results.of(mutant, tests)
    if (known === undefined) todo.push({ mutant, tests })
    else verdicts.set(mutant, known)
  }
  let done = 0
  const total = todo.length
  const work = async (): Promise<void> => {
    const lane = new Lane(false)
    const trial = new Trial(lane, results)
    for (let next = todo.shift(); next !== undefined; next = todo.shift()) {
      const { mutant, tests } = next
      const verdict = await trial.verdict(mutant, tests)
      verdicts.set(mutant, verdict)
      results.add(mutant, tests, verdict)
      done++
      const seconds = (verdict.ms / 1000).toFixed(1)
      console.log(`${done}/${total} ${verdict.end} ${seconds} s ${mutant.name}\n    ${verdict.by}`)
    }
    await lane.end()
  }
  await Promise.all(Array.from({ length: Math.min(options.processes, total) }, work))
  return verdicts
}

function report(all: readonly Mutant[], verdicts: Verdicts, minutes: string): number {
  const file = join(import.meta.dirname, 'survivors.json')
  const survivors: Survivors = JSON.parse(readFileSync(file, 'utf8'))
  const reasons = { ...survivors.equivalent, ...survivors.unnoticed }
  const shares = new Map<string, { noticed: number; counted: number; survived: number }>()
  const wrong: string[] = []
  for (const [mutant, { end, by }] of verdicts) {
    const isExplained = mutant.name in reasons
    if (end === 'survived' && !isExplained) wrong.push(`Not noticed: ${mutant.name} ${by}`)
    if (end === 'noticed' && isExplained) {
      wrong.push(`Noticed, though listed as not: ${mutant.name}\n    ${by}`)
    }
    const isEquivalent = end === 'survived' && mutant.name in survivors.equivalent
    if (end === 'invalid' || isEquivalent) continue
    for (const name of [shareOf(mutant), 'all']) {
      const share = shares.get(name) ?? { noticed: 0, counted: 0, survived: 0 }
      share.counted++
      if (end === 'noticed') share.noticed++
      else share.survived++
      shares.set(name, share)
    }
  }
  const names = new Set(all.map(({ name }) => name))
  for (const name of Object.keys(reasons)) {
    if (!names.has(name)) wrong.push(`Listed, and no mistake any more: ${name}`)
  }
  for (const [name, { noticed, counted }] of [...shares].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const percent = ((100 * noticed) / counted).toFixed(1).padStart(5)
    console.log(
      `${percent} % ${String(noticed).padStart(5)} of ${String(counted).padEnd(5)} ${name}`,
    )
  }
  const ends = [...verdicts.values()].map(({ end }) => end)
  const count = (end: Verdict['end']) => ends.filter((one) => one === end).length
  console.log(
    `${ends.length} mistakes: ${count('noticed')} noticed, ${count('survived')} not, ` +
      `${count('invalid')} no program. ${minutes} minutes.`,
  )
  for (const line of wrong) console.log(line)
  return wrong.length === 0 ? 0 : 1
}
