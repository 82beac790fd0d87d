/**
 * Bundles the package into `dist`: one file for each entry that the manifest names, and what several
 * of them need in a few files of its own. An app then loads seven files where the sources are a
 * hundred, which is most of what an import costs. The types are put beside them by the compiler.
 *
 * Each entry is written in three ways (`scripts/formats.mjs` says who loads which): the CommonJS file, a small
 * ES module that names each of its exports again, and an ES module for bundlers, browsers and edge runtimes.
 */

import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { build } from 'rolldown'
import { nameOf } from './formats.mjs'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

const modules = Object.values(manifest.exports)
  .map(nameOf)
  .filter((name) => name !== undefined)
const programs = Object.values(manifest.bin).map((file) =>
  file.slice('dist/'.length, -'.js'.length),
)
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
  const entries = modules.filter((name) => name.startsWith('client/'))
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

/** Bundles entries in a format; answers the names that each of them exports. */
async function bundle(names, { dir, format, ending, sourcemap }) {
  ofClient = undefined
  const { output } = await build({
    cwd: root,
    input: Object.fromEntries(names.map((name) => [name, sourceOf(name)])),
    platform: 'node',
    // What is not named by a path is a package or a module of Node.
    external: /^[^./]/,
    treeshake: { moduleSideEffects: false },
    output: {
      ...{ dir, format, sourcemap, comments: { jsdoc: false } },
      // As ES modules are; and compilers that make CommonJS of `import` look for `__esModule`.
      ...{ strict: true, esModule: true },
      entryFileNames: `[name]${ending}`,
      chunkFileNames: `chunks/[name]-[hash]${ending}`,
      codeSplitting: {
        groups: [
          { name: pureOf, debugName: 'pure', priority: 2 },
          { name: shareOf, debugName: 'share', minShareCount: 2, priority: 1 },
        ],
      },
    },
  })
  const entries = output.filter((file) => file.type === 'chunk' && file.isEntry)
  return new Map(
    entries.map(({ fileName, exports }) => [fileName.slice(0, -ending.length), exports]),
  )
}

/** The ES module for Node: the same objects as `require` gives, under the same names. */
function writeFacade(name, exports) {
  const file = join(dist, name)
  const from = `'./${posix.basename(name)}.js'`
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(`${file}.mjs`, `export { ${exports.toSorted().join(', ')} } from ${from}\n`)
  writeFileSync(`${file}.d.mts`, `export * from ${from}\n`)
}

const exported = await bundle([...modules, ...programs], {
  ...{ dir: 'dist', format: 'cjs', ending: '.js', sourcemap: true },
})
for (const name of modules) writeFacade(name, exported.get(name))
// Without maps: bundlers make their own, and names are as in the sources.
await bundle(modules, { dir: 'dist/esm', format: 'esm', ending: '.mjs', sourcemap: false })

// Written last: `scripts/prepack.mjs` takes it for the sign that everything is there.
writeFileSync(
  join(dist, 'package.json'),
  // Bundlers read `sideEffects` from the nearest manifest, which is this one.
  `${JSON.stringify({ type: 'commonjs', sideEffects: manifest.sideEffects }, null, 2)}\n`,
)
