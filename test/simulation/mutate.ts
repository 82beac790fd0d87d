/**
 * The simulation with a bug planted into the source: bundled with one place changed, and loaded.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { bundle } from './bundle.ts'
import type { Mutant } from './mutants.ts'
import type { playSeed } from './run.ts'

/** Plays seeds with the bug planted. */
export type PlayMutant = typeof playSeed

/** The simulation with the bug in it. */
export async function withMutant(mutant: Mutant): Promise<PlayMutant> {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-mutant-'))
  try {
    const outfile = join(folder, `${mutant.name}.mjs`)
    await bundle('run.ts', outfile, mutant.patch)
    // It is the bundle of that very module.
    const { playSeed: play } = (await import(pathToFileURL(outfile).href)) as {
      playSeed: PlayMutant
    }
    const flaws = new Set(mutant.flaw === undefined ? [] : [mutant.flaw])
    return (seed, settings, part) => play(seed, { ...settings, flaws }, part)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** How a hunt for a planted bug ended. */
export interface Hunt {
  readonly mutant: Mutant
  /** The first seed that found it; `undefined` when none did. */
  readonly seed: number | undefined
  readonly violation: string | undefined
}

/** Plays seeds until the bug is found. */
export async function hunt(
  mutant: Mutant,
  seeds: { readonly from: number; readonly to: number },
): Promise<Hunt> {
  const play = await withMutant(mutant)
  for (let seed = seeds.from; seed <= seeds.to; seed++) {
    try {
      const { violation } = await play(seed)
      if (violation !== undefined) return { mutant, seed, violation }
    } catch (error) {
      const cause = error instanceof Error ? error.cause : undefined
      return { mutant, seed, violation: `the world broke: ${String(cause ?? error)}` }
    }
  }
  return { mutant, seed: undefined, violation: undefined }
}
