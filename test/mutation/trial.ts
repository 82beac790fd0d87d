/**
 * Tries one mistake: runs its tests with the mistake in the source, and says what became of it.
 *
 * @module
 */

import type { Chosen, Failure } from './lane.ts'
import { type Lane, LaneLost } from './lanes.ts'
import { type Mutant, withMistake } from './mutants.ts'

/** What became of a mistake. */
export interface Verdict {
  /** `invalid`: what it made is no program, so nobody could have made it unseen. */
  readonly end: 'noticed' | 'survived' | 'invalid'
  /** The test that noticed, or why it counts. */
  readonly by: string
  /** The file of that test; empty where there is none. */
  readonly file: string
  readonly ms: number
}

/** How long tests may take with a mistake in them, in milliseconds, besides their own time. */
const PATIENCE_MS = 400_000

const INVALID =
  /syntax error at|near ".*": syntax error|Error compiling script|PARSE_ERROR|Transform failed|Expected .* but found/

/** Tries mistakes in one lane. */
export class Trial {
  readonly #lane: Lane
  /** Tests that were seen to pass by themselves, without a mistake. */
  readonly #proven: Set<string>
  /** Tests that fail by themselves: they say nothing. */
  readonly #unfit: Set<string>

  constructor(lane: Lane, known: { proven: Set<string>; unfit: Set<string> }) {
    this.#lane = lane
    this.#proven = known.proven
    this.#unfit = known.unfit
  }

  /** Runs the tests with the mistake until one fails that passes without it. */
  async verdict(mutant: Mutant, tests: readonly Chosen[]): Promise<Verdict> {
    const started = performance.now()
    const said = (end: Verdict['end'], by: string, file = ''): Verdict => {
      return { end, by, file, ms: Math.round(performance.now() - started) }
    }
    if (tests.length === 0) return said('survived', 'no test reaches it')
    const planted = { path: mutant.source.path, text: withMistake(mutant) }
    for (;;) {
      const fit = this.#fit(tests)
      const failure = await this.#run(planted, fit)
      if (failure === undefined) return said('survived', '')
      if (failure === 'lost') {
        // A busy machine would make every mistake look as if it had stopped the tests.
        const isBusy = (await this.#run(undefined, fit)) === 'lost'
        return isBusy ? said('survived', 'too slow to tell') : said('noticed', 'the tests hung')
      }
      if (INVALID.test(failure.message)) return said('invalid', failure.message.slice(0, 200))
      if (await this.#isProven(failure, fit)) {
        const { file, title, message } = failure
        return said('noticed', `${file} ${title}`.trim() || message, file)
      }
    }
  }

  #fit(tests: readonly Chosen[]): readonly Chosen[] {
    const isFit = (id: string) => !this.#unfit.has(id)
    return tests
      .filter(({ file }) => isFit(file))
      .map(({ file, ids }) => ({ file, ids: ids?.filter(isFit) }))
      .filter(({ ids }) => ids?.length !== 0)
  }

  /** Whether the test that failed passes without the mistake; if not, it is not asked again. */
  async #isProven(failure: Failure, tests: readonly Chosen[]): Promise<boolean> {
    const { id, file, message } = failure
    const key = id === '' ? file : id
    const isLate = /timed out/i.test(message)
    if (this.#proven.has(key) && !isLate) return true
    const same = tests.filter((chosen) => chosen.file === file)
    // An error that belongs to no file: the mistake has to have made it.
    if (same.length === 0) return true
    const clean = await this.#run(undefined, same)
    if (clean === undefined) {
      this.#proven.add(key)
      return true
    }
    this.#unfit.add(clean === 'lost' || clean.id === '' ? file : clean.id)
    return false
  }

  async #run(
    planted: { path: string; text: string } | undefined,
    tests: readonly Chosen[],
  ): Promise<Failure | 'lost' | undefined> {
    if (tests.length === 0) return undefined
    try {
      const answer = await this.#lane.ask({ kind: 'try', planted, tests }, PATIENCE_MS)
      return answer.kind === 'tried' ? answer.failure : undefined
    } catch (error) {
      if (error instanceof LaneLost) return 'lost'
      throw error
    }
  }
}
