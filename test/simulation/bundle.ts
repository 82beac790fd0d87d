/**
 * The simulation as one file: with a bug planted where one is asked for, and without what a loader
 * for TypeScript adds to each function.
 *
 * @module
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build, type Plugin } from 'esbuild'
import type { Mutant } from './mutants.ts'

const ROOT = join(import.meta.dirname, '..', '..')

/** Writes the module `entry` of the simulation, with all that it imports, to `outfile`. */
export async function bundle(
  entry: 'run.ts' | 'shard.ts' | 'model/explorer.ts',
  outfile: string,
  patch?: Mutant['patch'],
): Promise<void> {
  await build({
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
    ...{ logLevel: 'silent', plugins: patch === undefined ? [] : [planted(patch)] },
    entryPoints: [join(import.meta.dirname, entry)],
  })
}

/** Replaces the one place; a place that is not there any more is an error, and so are two. */
function planted({ file, find, replace }: NonNullable<Mutant['patch']>): Plugin {
  const path = join(ROOT, 'src', file)
  return {
    name: 'planted bug',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path: loaded }) => {
        if (loaded !== path) return undefined
        const source = readFileSync(path, 'utf8')
        const places = source.split(find).length - 1
        if (places !== 1) throw new Error(`${file} has ${places} places to plant the bug in.`)
        return { contents: source.replace(find, () => replace), loader: 'ts' }
      })
    },
  }
}
