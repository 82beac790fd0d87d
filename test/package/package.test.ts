/**
 * The package as its users get it: packed, unpacked, and loaded from a project beside it.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, posix, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const manifest: {
  readonly exports: Readonly<Record<string, string>>
  readonly bin: Readonly<Record<string, string>>
  readonly version: string
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const modules = Object.keys(manifest.exports).filter((subpath) => subpath !== './package.json')

/** Files that are exported by their own name, by folder. */
const NAMED = /^\.\/dist\/(adapters|sinks|(?:client|dashboard)(?=\/(?!index))|.*\/handles)\//

let project: string
let installed: string

beforeAll(async () => {
  project = await mkdtemp(join(tmpdir(), 'reprise-package-'))
  installed = join(project, 'node_modules', 'reprise')
  await mkdir(installed, { recursive: true })
  await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', project], {
    cwd: root,
  })
  const tarball = join(project, `reprise-${manifest.version}.tgz`)
  // The one peer that an adapter imports at run time.
  await symlink(join(root, 'node_modules/@nestjs'), join(project, 'node_modules/@nestjs'))
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
})

afterAll(async () => {
  await rm(project, { recursive: true, force: true })
})

describe('the packed package', () => {
  test('holds the types of each source file, and a module for each entry', () => {
    const stem = (file: string) => file.replace(/(\.d)?\.(ts|js)$/, '')
    const sources = filesBelow(join(root, 'src')).map(stem)
    const built = filesBelow(join(installed, 'dist'))
    const scripts = built.filter((file) => file.endsWith('.js') && !file.startsWith('chunks/'))
    const exported = modules.map((subpath) => manifest.exports[subpath] ?? '')
    const programs = Object.values(manifest.bin).map((file) => `./${file}`)
    const entries = new Set([...exported, ...programs])

    expect(built.filter((file) => file.endsWith('.d.ts')).map(stem)).toEqual(sources)
    expect(scripts.map((file) => `./dist/${file}`)).toEqual([...entries].sort())
  })

  test('exports each index file below src, and else only what goes by its own name', () => {
    const index = filesBelow(join(installed, 'dist')).filter(isEntry)
    const exported = modules.map((subpath) => [subpath, manifest.exports[subpath] ?? ''] as const)
    const named = exported.filter(([, file]) => NAMED.test(file))

    for (const [subpath, file] of named) {
      const [, folder = ''] = NAMED.exec(file) ?? []
      const name = subpath.replace(/^\.\/(postgres\/|sinks\/|client\/|dashboard\/)?/, '')
      expect(file).toBe(`./dist/${folder}/${name}.js`)
    }
    const others = exported.filter((one) => !named.includes(one)).map(([, file]) => file)
    expect(others.sort()).toEqual(index.map((file) => `./dist/${file}`).sort())
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
    const imported = await load('import', modules)
    const required = await load('require', modules)

    expect(Object.keys(imported)).toEqual(modules)
    for (const names of Object.values(imported)) expect(names).not.toEqual([])
    expect(required).toEqual(imported)
  })

  test('has an app open few files', () => {
    // Each file costs about a millisecond.
    expect(opened('.', './express', './postgres').size).toBeLessThanOrEqual(7)
  })

  test.each(['.', './express', './redis', './memory'])(
    'loads nothing of PostgreSQL with %s',
    (subpath) => {
      expect([...opened(subpath).keys()].filter((file) => file.includes('postgres'))).toEqual([])
    },
  )

  test('never imports all of process, which opens standard input and output', () => {
    // A module's names are read when it is linked, and some of these are getters that open a stream.
    const texts = [...opened('.', './express', './fetch', './hono', './postgres').values()]
    expect(texts.join('\n')).not.toMatch(/from "(node:)?process"/)
  })

  test.each(['.', './axios', './form', './ky', './web-journals'])(
    'gives pages the client without modules of Node: %s',
    (name) => {
      const texts = [...opened(posix.join('./client', name)).values()]
      expect(texts.join('\n')).not.toMatch(/\bfrom "(?!\.)|\bimport "(?!\.)|\brequire\(/)
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

/** The files that are read when subpaths are imported, and what is in them. */
function opened(...subpaths: readonly string[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>()
  const open = (file: string) => {
    if (found.has(file)) return
    const text = readFileSync(file, 'utf8')
    found.set(file, text)
    for (const [, path = ''] of text.matchAll(/\b(?:from|import) "(\.[^"]+)"/g)) {
      open(join(dirname(file), path))
    }
  }
  for (const subpath of subpaths) {
    const name = subpath.startsWith('.') ? subpath : `./${subpath}`
    open(join(installed, manifest.exports[name] ?? ''))
  }
  return found
}

/** Loads subpaths in a Node process of the project; answers the names that each one exports. */
async function load(
  how: 'import' | 'require',
  asked: readonly string[],
): Promise<Readonly<Record<string, readonly string[]>>> {
  const file = join(project, how === 'import' ? 'load.mjs' : 'load.cjs')
  const entries = asked.map((subpath) => {
    const specifier = JSON.stringify(posix.join('reprise', subpath))
    const loaded = how === 'import' ? `await import(${specifier})` : `require(${specifier})`
    return `[${JSON.stringify(subpath)}, Object.keys(${loaded}).sort()]`
  })
  await writeFile(file, `console.log(JSON.stringify(Object.fromEntries([${entries.join(', ')}])))`)

  const { stdout } = await run(process.execPath, ['--no-warnings', file], { cwd: project })
  return JSON.parse(stdout)
}

/** Whether a built file is meant to be imported by users: the root, the dialects, the stores … */
function isEntry(file: string): boolean {
  return /^(index|core\/dialects\/index|stores\/[^/]+\/index|(admin|client|dashboard|phases|telemetry|testing|workers)\/index)\.js$/.test(
    file,
  )
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}
