/**
 * The simulation as one file: with a bug planted where one is asked for, and without what a loader
 * for TypeScript adds to each function.
 *
 * @module
 */

import { join } from 'node:path'
import { bundle as bundleOf } from '../support/planted.ts'
import type { Mutant } from './mutants.ts'

/** Writes the module `entry` of the simulation, with all that it imports, to `outfile`. */
export async function bundle(
  entry: 'run.ts' | 'shard.ts' | 'model/explorer.ts',
  outfile: string,
  patch?: Mutant['patch'],
): Promise<void> {
  await bundleOf(join(import.meta.dirname, entry), outfile, patch === undefined ? [] : [patch])
}
