/**
 * Links lead somewhere: in what is packed, to what is packed; in the repository, to what is in it. Other
 * hosts are only named where they are on a list; none of them is asked.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { docLinksIn } from './doc-links.ts'
import { anchorsOf, type FileSet, faultOf, hostsIn, linksIn } from './documents.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')

/** Folders of the repository that hold nothing of our own. */
const FOREIGN = new Set(['node_modules', 'dist', '.git', '.reprise', '.built'])

/** Files below a folder of the repository, by their paths below the root. */
function filesBelow(folder: string): readonly string[] {
  return readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return FOREIGN.has(entry.name) ? [] : filesBelow(path)
    return entry.isFile() ? [path.split(sep).join('/')] : []
  })
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

const isDocument = (path: string) => /\.(md|html)$/.test(path)
const repository: FileSet = {
  root,
  has: (path) => existsSync(join(root, path)) && statSync(join(root, path)).isFile(),
}
/** Pages that the server serves link to its paths; `test/server/site.test.ts` follows them. */
const documents = filesBelow('.').filter((path) => path.endsWith('.md'))

let packed: ReadonlySet<string>
let pack: FileSet
let complaints: readonly string[]

beforeAll(async () => {
  const { stdout, stderr } = await run('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: root,
  })
  const [{ files }]: [{ files: readonly { path: string }[] }] = JSON.parse(stdout)
  packed = new Set(files.map(({ path }) => path))
  pack = { root, has: (path) => packed.has(path) }
  complaints = stderr.split('\n').filter((line) => /\bwarn\b/i.test(line) && !isOfUser(line))
})

function faultsIn(paths: readonly string[], files: FileSet): readonly string[] {
  return paths
    .flatMap((path) => linksIn(path, read(path)))
    .flatMap((link) => faultOf(link, files) ?? [])
}

describe('what is packed', () => {
  test('links only to what is packed, and to anchors that are there', () => {
    const pages = [...packed].filter(isDocument)
    expect(pages.length).toBeGreaterThan(25)
    expect(pages.flatMap((path) => linksIn(path, read(path))).length).toBeGreaterThan(60)
    expect(faultsIn(pages, pack)).toEqual([])
  })

  test('is documentation for users, and no page for maintainers', () => {
    const docs = [...packed].filter((path) => !path.startsWith('dist/'))
    const forUs =
      /architecture|benchmarks|operations\.md|reference-server|reliability|seeds|simulation/
    const unwanted = docs.filter((path) => forUs.test(path) && path !== 'docs/guides/operations.md')
    expect(unwanted).toEqual([])
    expect(docs).toEqual(expect.arrayContaining(['README.md', 'LICENSE', 'docs/errors.md']))
    expect(docs.filter((path) => !/^(docs\/|[A-Z]+(\.md)?$|package\.json$)/.test(path))).toEqual([])
  })

  test('has every page that the code of the package points to', () => {
    const sources = filesBelow('src').filter((path) => path.endsWith('.ts'))
    const named = sources.flatMap((from) =>
      [...read(from).matchAll(/node_modules\/reprise\/([\w/.-]+\.md(?:#[\w-]+)?)/g)].map(
        ([, href = '']) => ({ from: 'package.json', href }),
      ),
    )
    expect(named.length).toBeGreaterThan(4)
    expect(named.flatMap((link) => faultOf(link, pack) ?? [])).toEqual([])
  })

  test('has every image that a page of it shows, and no other', () => {
    const shown = [...packed]
      .filter(isDocument)
      .flatMap((path) => linksIn(path, read(path)))
      .flatMap(({ href }) => /[\w-]+\.(?:png|svg|jpe?g|gif|webp)$/.exec(href)?.[0] ?? [])
    const images = [...packed].filter((path) => path.startsWith('docs/images/'))
    expect(images.map((path) => path.replace('docs/images/', '')).sort()).toEqual(
      [...new Set(shown)].sort(),
    )
  })

  test('announces no script that runs on install, and no address that is not ours', () => {
    const { scripts, ...manifest } = JSON.parse(read('package.json'))
    const hooks = ['preinstall', 'install', 'postinstall', 'prepare', 'prepublish']
    expect(hooks.filter((name) => name in scripts)).toEqual([])
    for (const field of ['repository', 'bugs', 'homepage', 'author']) {
      expect(manifest).not.toHaveProperty(field)
    }
    // The page that says so instead.
    expect(read('README.md')).toContain('no repository, homepage or bug tracker')
  })

  test('is packed without a warning', () => {
    expect(complaints).toEqual([])
  })

  test('has a manifest that npm has nothing to correct in when it publishes', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reprise-manifest-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    await copyFile(join(root, 'package.json'), join(folder, 'package.json'))
    await run('npm', ['pkg', 'fix'], { cwd: folder })
    const fixed = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
    expect(fixed).toEqual(JSON.parse(read('package.json')))
  })
})

/** npm also warns of settings of the machine that it runs on. */
function isOfUser(line: string): boolean {
  return /Unknown (user|env|cli|project|builtin|global) config/.test(line)
}

describe('the repository', () => {
  test('links only to files that are there, and to anchors that are in them', () => {
    expect(documents).toEqual(expect.arrayContaining(['README.md', 'docs/architecture.md']))
    expect(faultsIn(documents, repository)).toEqual([])
  })

  test.each([
    ['src', () => filesBelow('src').filter((path) => path.endsWith('.ts'))],
    ['dist', () => [...packed].filter((path) => /\.d\.[cm]?ts$/.test(path))],
  ])('has no doc comment in %s that links to a name that is not known there', (_, list) => {
    const files = list().map((path) => join(root, path))
    const texts = files.map((file) => readFileSync(file, 'utf8').match(/\{@link/g)?.length ?? 0)
    const { count, dead } = docLinksIn(root, files)
    expect(count).toBe(texts.reduce((sum, one) => sum + one))
    expect(count).toBeGreaterThan(50)
    expect(dead).toEqual([])
  })
})

/** Hosts that a text may name, each with the reason. */
const HOSTS: readonly (readonly [host: RegExp, reason: string])[] = [
  [/(^|\.)example(\.(com|org|net))?$|\.test$/, 'reserved for examples (RFC 2606, RFC 6761)'],
  [/^(127\.0\.0\.1|0\.0\.0\.0)$/, 'this machine'],
  [/^(www\.)?(rfc-editor|ietf|iana)\.org$|^datatracker\.ietf\.org$/, 'standards'],
  [/^www\.w3\.org$/, 'the name of a namespace of XML, which nobody fetches'],
  [/^json-schema\.org$/, 'the name of a dialect of JSON Schema'],
  [/^semver\.org$/, 'what the numbers of versions mean'],
  [/^standardschema\.dev$/, 'the interface that schemas of inputs have'],
  [/^api\.stripe\.com$/, 'the payment provider that STRIPE_API_BASE may name'],
]

describe('no text names a host that is not on the list', () => {
  const strange = (paths: readonly string[]) =>
    paths.flatMap((path) =>
      hostsIn(read(path))
        // A name without a dot is a placeholder, and no domain that anybody could register.
        .filter((host) => host.includes('.') && !HOSTS.some(([known]) => known.test(host)))
        .map((host) => `${path}: ${host}`),
    )
  const texts = (folder: string) =>
    filesBelow(folder).filter((path) => /\.(ts|tsx|mjs|md|html|css|svg|json|yml)$/.test(path))

  test.each(['src', 'docs', 'examples', 'dashboard', 'scripts'])('in %s', (folder) => {
    expect(texts(folder).length).toBeGreaterThan(5)
    expect(strange(texts(folder))).toEqual([])
  })

  test('at the root, and in what is packed', () => {
    const top = readdirSync(root).filter((name) => /^[A-Z]+\.md$|^package\.json$/.test(name))
    expect(strange(top)).toEqual([])
    expect(strange([...packed].filter((path) => /\.(js|cjs|mjs|ts|cts|md)$/.test(path)))).toEqual(
      [],
    )
  })

  test('nor is a domain named as if it were ours', () => {
    const named = ['src', 'docs', 'examples', 'dashboard', 'scripts', 'test']
      .flatMap(texts)
      .concat(['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md'])
      .filter((path) => path !== relative(root, import.meta.filename))
      .filter((path) => /\breprise\.(dev|io|com|org|net|app|sh)\b/.test(read(path)))
    expect(named).toEqual([])
  })
})

describe('the checks themselves', () => {
  const files: FileSet = { root, has: (path) => path === 'docs/errors.md' }
  const fault = (text: string) =>
    linksIn('docs/a.md', text).map((link) => faultOf(link, files) ?? 'fine')

  test.each([
    ['[a](errors.md)', 'fine'],
    ['[a](errors.md#idempotency-key-missing)', 'fine'],
    ['[a](https://example.com/none)', 'fine'],
    ['[a](none.md)', 'docs/a.md: none.md leads to no file'],
    ['![a](images/none.png "A picture")', 'docs/a.md: images/none.png leads to no file'],
    ['[a](errors.md#none)', 'docs/a.md: errors.md#none leads to no anchor'],
    ['[a](../../none.md)', 'docs/a.md: ../../none.md leads outside'],
    ['[a](/none.md)', 'docs/a.md: /none.md leads outside'],
    ['[a]: none.md', 'docs/a.md: none.md leads to no file'],
    ['<a href="none.html">a</a>', 'docs/a.md: none.html leads to no file'],
  ])('%s: %s', (text, said) => {
    expect(fault(text)).toEqual([said])
  })

  test('leave code alone', () => {
    expect(fault('`[a](none.md)`\n\n```md\n[a](none.md)\n```\n')).toEqual([])
  })

  test('make anchors as GitHub does', () => {
    const text = '# A, `b` and C-d!\n## Same\n## Same\n```sh\n# no heading\n```\n<a id="own"></a>\n'
    expect([...anchorsOf('a.md', text)]).toEqual(['own', 'a-b-and-c-d', 'same', 'same-1'])
  })

  test('find hosts in addresses of every kind', () => {
    const text = 'http://One.example/a "https://u:p@two.example:8080" wss://three.example, [::1]'
    expect(hostsIn(text)).toEqual(['one.example', 'two.example', 'three.example'])
  })
})
