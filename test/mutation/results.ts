/**
 * What earlier runs have found, so that a run that was interrupted goes on.
 *
 * @module
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Mutant } from './mutants.ts'
import { CACHE } from './reach.ts'
import type { Verdict } from './trial.ts'

const FILE = join(CACHE, 'results.json')

interface Kept {
  readonly verdicts: Record<string, { readonly state: string; readonly verdict: Verdict }>
  readonly proven: readonly string[]
  readonly unfit: readonly string[]
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

  /** The verdict, if neither the mistake's file nor its tests have changed since. */
  of({ name }: Mutant, state: string): Verdict | undefined {
    const kept = this.#verdicts[name]
    return kept?.state === state ? kept.verdict : undefined
  }

  /** Keeps a verdict. */
  add({ name }: Mutant, state: string, verdict: Verdict): void {
    this.#verdicts[name] = { state, verdict }
    if (!this.#isKept) return
    mkdirSync(CACHE, { recursive: true })
    const { proven, unfit } = this
    // Another run may have written meanwhile.
    const verdicts = { ...read().verdicts, ...this.#verdicts }
    const kept: Kept = { verdicts, proven: [...proven], unfit: [...unfit] }
    writeFileSync(FILE, JSON.stringify(kept))
  }
}

const EMPTY: Kept = { verdicts: {}, proven: [], unfit: [] }

function read(): Kept {
  try {
    return JSON.parse(readFileSync(FILE, 'utf8'))
  } catch {
    return EMPTY
  }
}
