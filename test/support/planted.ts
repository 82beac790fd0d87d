/**
 * Modules with bugs planted into the source: bundled with some places changed, and loaded.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type BuildOptions, build, type Plugin } from 'esbuild'

const ROOT = join(import.meta.dirname, '..', '..')

/** A place in the source, and what stands there instead. */
export interface Change {
  /** A file below `src`. */
  readonly file: string
  /** A text that is in the file once. */
  readonly find: string
  readonly replace: string
}

/** How a bundle is made, where that differs. */
export type BundleOptions = Pick<BuildOptions, 'packages'>

/** Writes the module at `entry`, with all that it imports and with the changes, to `outfile`. */
export async function bundle(
  entry: string,
  outfile: string,
  changes: readonly Change[] = [],
  options: BundleOptions = {},
): Promise<void> {
  await build({
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20' },
    ...{ logLevel: 'silent', plugins: [planting(changes)], entryPoints: [entry] },
    ...options,
  })
}

/**
 * Loads the module at `entry` with the changes. That it is a `Module` is for the caller to know.
 *
 * @param copies - how many times it is loaded: each copy has its own state, as a process of its own has
 */
export async function loadPlanted<Module>(
  entry: string,
  changes: readonly Change[] = [],
  { copies = 1, ...options }: BundleOptions & { readonly copies?: number } = {},
): Promise<readonly [Module, ...Module[]]> {
  // Packages are found from below the folder that has them.
  const cache = join(ROOT, 'node_modules', '.reprise-planted')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'bundle-'))
  try {
    const outfile = join(folder, 'bundle.mjs')
    await bundle(entry, outfile, changes, options)
    const { href } = pathToFileURL(outfile)
    const load = async (copy: number) => (await import(`${href}?copy=${copy}`)) as Module
    const others = Array.from({ length: copies - 1 }, (_, at) => load(at + 1))
    return [await load(0), ...(await Promise.all(others))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Replaces each place; a place that is not there any more is an error, and so are two. */
function planting(changes: readonly Change[]): Plugin {
  return {
    name: 'planted bugs',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const here = changes.filter(({ file }) => join(ROOT, 'src', file) === path)
        if (here.length === 0) return undefined
        return { contents: here.reduce(changed, readFileSync(path, 'utf8')), loader: 'ts' }
      })
    },
  }
}

function changed(source: string, { file, find, replace }: Change): string {
  const places = source.split(find).length - 1
  if (places !== 1) throw new Error(`${file} has ${places} places to plant the bug in: ${find}`)
  return source.replace(find, () => replace)
}
