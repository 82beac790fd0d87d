/**
 * Bundles the package into `dist`: one file for each entry that the manifest names, and what several
 * of them need in chunks. An app then loads a dozen files where the sources are a hundred, which is
 * most of what an import costs. The types are put beside them by the compiler.
 */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'

const root = join(import.meta.dirname, '..')
const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const entryPoints = [...Object.values(exports), ...Object.values(bin)]
  .filter((file) => file.endsWith('.js'))
  .map((file) => join(root, 'src', file.replace('./dist/', '').replace(/\.js$/, '.ts')))

await build({
  ...{ entryPoints, outdir: join(root, 'dist'), outbase: join(root, 'src') },
  ...{ bundle: true, splitting: true, chunkNames: 'chunks/[name]-[hash]', packages: 'external' },
  ...{
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked',
    absWorkingDir: root,
  },
})
