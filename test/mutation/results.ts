/**
 * What earlier runs have found, so that a run that was interrupted goes on.
 *
 * @module
 */

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Chosen } from './lane.ts'
import type { Mutant } from './mutants.ts'
import { CACHE, hashOf } from './reach.ts'
import type { Verdict } from './trial.ts'

const FILE = join(CACHE, 'results.json')

interface Kept {
  readonly verdicts: Record<string, KeptVerdict>
  readonly proven: readonly string[]
  readonly unfit: readonly string[]
}

interface KeptVerdict {
  /** Hash of the file that the mistake is in. */
  readonly source: string
  /** Hash of the test file that noticed, or of all tests where none did. */
  readonly tests: string
  readonly verdict: Verdict
}

/** The verdicts, in a file. */
export class Results {
  readonly #verdicts: Kept['verdicts']
  /** Tests that pass by themselves. */
  readonly proven: Set<string>
  /** Tests that do not. */
  readonly unfit: Set<string>

  readonly #isKept: boolean

  /** @param isKept - whether what is found is written down for the next run */
  constructor({ isFresh, isKept }: { isFresh: boolean; isKept: boolean }) {
    const { verdicts, proven, unfit } = isFresh || !isKept ? EMPTY : read()
    this.#isKept = isKept
    this.#verdicts = { ...verdicts }
    this.proven = new Set(proven)
    this.unfit = new Set(unfit)
  }

  /** The verdict, if neither the mistake's file nor the tests that matter for it have changed since. */
  of({ name, source }: Mutant, tests: readonly Chosen[]): Verdict | undefined {
    const kept = this.#verdicts[name]
    if (kept === undefined || kept.source !== hashOf(source.path)) return undefined
    return kept.tests === hashOfTests(kept.verdict, tests) ? kept.verdict : undefined
  }

  /** Keeps a verdict. */
  add({ name, source }: Mutant, tests: readonly Chosen[], verdict: Verdict): void {
    const state = { source: hashOf(source.path), tests: hashOfTests(verdict, tests) }
    this.#verdicts[name] = { ...state, verdict }
    if (!this.#isKept) return
    mkdirSync(CACHE, { recursive: true })
    const { proven, unfit } = this
    // Another run may have written meanwhile.
    const verdicts = { ...read().verdicts, ...this.#verdicts }
    const kept: Kept = { verdicts, proven: [...proven], unfit: [...unfit] }
    writeFileSync(FILE, JSON.stringify(kept))
  }
}

function hashOfTests({ end, file }: Verdict, tests: readonly Chosen[]): string {
  if (end !== 'survived') return hashOf(file)
  const all = tests.map(({ file: one, ids }) => `${one} ${hashOf(one)} ${ids?.join() ?? ''}`)
  return createHash('sha256').update(all.join()).digest('hex').slice(0, 16)
}

const EMPTY: Kept = { verdicts: {}, proven: [], unfit: [] }

function read(): Kept {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'))
  } catch {
    return EMPTY
  }
}
