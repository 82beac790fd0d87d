/**
 * Bundles the package into `dist`: one file for each entry that the manifest names, and what several
 * of them need in a few files of its own. An app then loads seven files where the sources are a
 * hundred, which is most of what an import costs. The types are put beside them by the compiler.
 */

import { readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { build } from 'rolldown'

const root = join(import.meta.dirname, '..')
const { exports, bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const names = [...Object.values(exports), ...Object.values(bin)]
  .filter((file) => file.endsWith('.js'))
  .map((file) => file.replace(/^(\.\/)?dist\//, '').replace(/\.js$/, ''))
const sourceOf = (name) => join(root, 'src', `${name}.ts`)

/** Everything that some entries import, found while they are bundled. */
function reached(entries, bundle) {
  const found = new Set()
  const visit = (id) => {
    if (found.has(id)) return
    found.add(id)
    for (const imported of bundle.getModuleInfo(id)?.importedIds ?? []) visit(imported)
  }
  for (const name of entries) visit(sourceOf(name))
  return found
}

let ofClient

/** The file for what browsers load with the client: nothing in it imports modules of Node. */
function pureOf(id, bundle) {
  const entries = names.filter((name) => name.startsWith('client/'))
  ofClient ??= reached(entries, bundle)
  return ofClient.has(id) && layersOf(id)[0] !== 'client' ? 'pure' : null
}

function layersOf(id) {
  return relative(join(root, 'src'), id).split(sep)
}

/** The file for what several entries share; `null` leaves it to the bundler. */
function shareOf(id) {
  const [layer, part] = layersOf(id)
  if (layer === 'core' || layer === 'engine') return 'engine'
  if (layer === 'adapters') return 'http'
  if (layer !== 'stores') return null
  // What all stores need is little, and the memory store is loaded with the engine anyway: a file of
  // their own would cost more than they do.
  if (part === 'memory' || part.endsWith('.ts')) return 'engine'
  return part === 'postgres' ? 'postgres' : null
}

await build({
  cwd: root,
  input: Object.fromEntries(names.map((name) => [name, sourceOf(name)])),
  platform: 'node',
  // What is not named by a path is a package or a module of Node.
  external: /^[^./]/,
  treeshake: { moduleSideEffects: false },
  output: {
    ...{ dir: 'dist', format: 'esm', sourcemap: true, comments: { jsdoc: false } },
    chunkFileNames: 'chunks/[name]-[hash].js',
    codeSplitting: {
      groups: [
        { name: pureOf, debugName: 'pure', priority: 2 },
        { name: shareOf, debugName: 'share', minShareCount: 2, priority: 1 },
      ],
    },
  },
})
