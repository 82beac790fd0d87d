/**
 * The package as its users get it: packed, unpacked, and loaded from a project beside it.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conditionsOf, typesVersionsOf } from '../../scripts/formats.mjs'
import { entries, manifest, type Project, packedProject, root } from './support/packed.ts'

const run = promisify(execFile)
const subpaths = entries.map(({ subpath }) => subpath)

/** Files that are exported by their own name, by folder. */
const NAMED = /^(adapters|sinks|(?:client|dashboard)(?=\/(?!index))|.*\/handles)\//

let project: Project
let installed: string

beforeAll(async () => {
  project = await packedProject()
  installed = project.installed
})

afterAll(async () => {
  await project.remove()
})

describe('the manifest', () => {
  test('names the files of each subpath for every module format', () => {
    const expected = entries.map(({ subpath, name }) => [subpath, conditionsOf(name)])
    const others = { './package.json': './package.json' }
    expect(manifest.exports).toEqual({ ...Object.fromEntries(expected), ...others })
    // Conditions are tried in the order in which they are written.
    for (const { conditions } of entries) {
      expect(Object.keys(conditions)).toEqual(['module', 'import', 'require'])
      expect(Object.keys(conditions.import)).toEqual(['types', 'node', 'default'])
      expect(Object.keys(conditions.require)).toEqual(['types', 'default'])
    }
  })

  test('names the same types for compilers that do not read exports', () => {
    const others = entries.filter(({ subpath }) => subpath !== '.')
    const expected = others.map(({ subpath, name }) => [subpath.slice(2), typesVersionsOf(name)])
    expect(manifest.typesVersions).toEqual({ '*': Object.fromEntries(expected) })
    const { types, default: main } = conditionsOf('index').require
    expect([manifest.types, manifest.main]).toEqual([types, main])
  })

  test('names what the examples of the repository import by the same name', () => {
    const text = readFileSync(join(root, 'tsconfig.json'), 'utf8').replaceAll(/^\s*\/\/.*$/gm, '')
    const expected = entries.map(({ specifier, name }) => [specifier, [`./src/${name}.ts`]])
    expect(JSON.parse(text).compilerOptions.paths).toEqual(Object.fromEntries(expected))
  })
})

describe('the packed package', () => {
  test('holds the types of each source file, and the modules of each entry', () => {
    const stem = (file: string) => file.replace(/(\.d)?\.(ts|js)$/, '')
    const sources = filesBelow(join(root, 'src')).map(stem)
    const built = filesBelow(join(installed, 'dist'))
    const ofBuild = (ending: RegExp) =>
      built
        .filter((file) => ending.test(file) && !/(^|\/)chunks\//.test(file))
        .map((file) => `./dist/${file}`)
    const required = entries.map(({ conditions }) => conditions.require.default)
    const imported = entries.map(({ conditions }) => conditions.import)

    expect(built.filter((file) => file.endsWith('.d.ts')).map(stem)).toEqual(sources)
    const programs = Object.values(manifest.bin).map((file) => `./${file}`)
    expect(ofBuild(/\.js$/)).toEqual([...required, ...programs].sort())
    expect(ofBuild(/\.mjs$/)).toEqual(imported.flatMap((of) => [of.default, of.node]).sort())
    expect(ofBuild(/\.d\.mts$/)).toEqual(imported.map(({ types }) => types).sort())
  })

  test('exports each index file below src, and else only what goes by its own name', () => {
    const stems = filesBelow(join(root, 'src')).map((file) => file.replace(/\.ts$/, ''))
    const named = entries.filter(({ name }) => NAMED.test(name))

    for (const { subpath, name } of named) {
      const [, folder = ''] = NAMED.exec(name) ?? []
      const own = subpath.replace(/^\.\/(postgres\/|sinks\/|client\/|dashboard\/)?/, '')
      expect(name).toBe(`${folder}/${own}`)
    }
    const others = entries.filter((one) => !named.includes(one)).map(({ name }) => name)
    expect(others.sort()).toEqual(stems.filter(isEntry))
  })

  test('holds no test, no script and no map to a file that is not there', () => {
    const top = new Set(filesBelow(installed).map((file) => file.split('/')[0]))

    expect([...top]).not.toContain('test')
    expect([...top]).not.toContain('scripts')
    for (const file of filesBelow(installed).filter((name) => name.endsWith('.map'))) {
      const map = JSON.parse(readFileSync(join(installed, file), 'utf8'))
      expect(map.sourcesContent, file).toHaveLength(map.sources.length)
    }
  })

  test('lets every subpath be imported and required, with the same names', async () => {
    const imported = await load('import', subpaths)
    const required = await load('require', subpaths)

    expect(Object.keys(imported)).toEqual(subpaths)
    for (const names of Object.values(imported)) expect(names).not.toEqual([])
    expect(required).toEqual(imported)
  })

  test('has an app open few files', () => {
    // Each file costs about a millisecond; those of `import` that only name exports again less.
    expect(opened('require', '.', './express', './postgres').size).toBeLessThanOrEqual(8)
    expect(opened('node', '.', './express', './postgres').size).toBeLessThanOrEqual(11)
    expect(opened('bundler', '.', './express', './postgres').size).toBeLessThanOrEqual(8)
  })

  test.each(['.', './express', './redis', './memory'])(
    'loads nothing of PostgreSQL with %s',
    (subpath) => {
      const files = [...opened('node', subpath).keys()].map((file) => relative(installed, file))
      expect(files.filter((file) => file.includes('postgres'))).toEqual([])
    },
  )

  test('never imports all of process, which opens standard input and output', () => {
    // A module's names are read when it is linked, and some of these are getters that open a stream.
    const names = ['.', './express', './fetch', './hono', './postgres']
    const texts = [...opened('node', ...names), ...opened('bundler', ...names)]
    expect(texts.join('\n')).not.toMatch(/(from |require\()"(node:)?process"/)
  })

  test.each(['.', './axios', './form', './ky', './web-journals'])(
    'gives pages the client without modules of Node: %s',
    (name) => {
      const subpath = posix.join('./client', name)
      const texts = (how: How) => [...opened(how, `./${subpath}`).values()].join('\n')
      expect(texts('bundler')).not.toMatch(/\bfrom "(?!\.)|\bimport "(?!\.)|\brequire\(/)
      // As tests in a simulated page load it.
      expect(texts('require')).not.toMatch(/\brequire\("(?!\.)/)
    },
  )

  test('gives its own manifest', async () => {
    const { './package.json': names } = await load('require', ['./package.json'])
    expect(names).toContain('version')
  })

  test('does not give what it does not export', async () => {
    const loading = load('import', ['./dist/core/decide.js'])
    await expect(loading).rejects.toThrow('ERR_PACKAGE_PATH_NOT_EXPORTED')
  })
})

/** By `require`; by `import` on Node; by a bundler, a browser or an edge runtime. */
type How = 'require' | 'node' | 'bundler'

/** The files that are read when subpaths are loaded, and what is in them. */
function opened(how: How, ...asked: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const open = (file: string) => {
    if (found.has(file)) return
    const text = readFileSync(file, 'utf8')
    found.set(file, text)
    for (const [, path = ''] of text.matchAll(
      /(?:\bfrom |\bimport |\brequire\()["'](\.[^"']+)["']/g,
    )) {
      open(join(dirname(file), path))
    }
  }
  for (const subpath of asked) {
    const entry = entries.find((one) => one.subpath === subpath)
    if (entry === undefined) throw new Error(`There is no ${subpath}.`)
    const { import: imported, require: required } = entry.conditions
    const files = { require: required.default, node: imported.node, bundler: imported.default }
    open(join(installed, files[how]))
  }
  return found
}

/** Loads subpaths in a Node process of the project; answers the names that each one exports. */
async function load(
  how: 'import' | 'require',
  asked: readonly string[],
): Promise<Readonly<Record<string, readonly string[]>>> {
  const lines = asked.map((subpath) => {
    const specifier = JSON.stringify(posix.join('reprise', subpath))
    const loaded = how === 'import' ? `await import(${specifier})` : `require(${specifier})`
    return `[${JSON.stringify(subpath)}, Object.keys(${loaded}).sort()]`
  })
  const text = `console.log(JSON.stringify(Object.fromEntries([${lines.join(', ')}])))`
  const file = await project.write(how === 'import' ? 'load.mjs' : 'load.cjs', text)
  // Not by Node's own way to require ES modules, which older versions and Jest do not have.
  const args = how === 'require' ? ['--no-experimental-require-module', file] : [file]
  const { stdout } = await run(process.execPath, args, { cwd: project.folder })
  return JSON.parse(stdout)
}

/** Whether a source is meant to be imported by users: the root, the dialects, the stores … */
function isEntry(name: string): boolean {
  return /^(index|core\/dialects\/index|stores\/[^/]+\/index|(admin|client|dashboard|phases|telemetry|testing|workers)\/index)$/.test(
    name,
  )
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}
