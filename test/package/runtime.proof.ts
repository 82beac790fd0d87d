/**
 * The packed package on every Node of `engines`: required, imported, and loaded by Jest without any setting.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { installFolder } from '../../scripts/install-folder.mjs'
import { installNodes } from './support/nodes.ts'
import { entries, type Project, packedProject } from './support/packed.ts'

const run = promisify(execFile)
const jestFolder = join(import.meta.dirname, 'jest')
const SPECIFIERS = JSON.stringify(entries.map(({ specifier }) => specifier))
/** What has nothing to do with Node, so that pages can load it. */
const OF_PAGES = JSON.stringify(
  entries.map(({ specifier }) => specifier).filter((name) => /client(?!\/file-journal)/.test(name)),
)

await installFolder(jestFolder)
const others = await installNodes('the packed package')
const NODES = [{ version: process.versions.node, program: process.execPath }, ...others]

let project: Project

beforeAll(async () => {
  project = await packedProject()
  await writeJestApps()
  await writePlainApps()
})

afterAll(async () => {
  await project.remove()
})

describe.each(NODES)('Node $version', ({ program, version }) => {
  test('is the version that is meant', async () => {
    const { stdout } = await run(program, ['--version'])
    expect(stdout.trim()).toBe(`v${version}`)
  })

  test.each(['app.cjs', 'app.mjs'])(
    'loads every subpath, the same in both ways: %s',
    async (app) => {
      const { stdout, stderr } = await run(program, [join(project.folder, app)])
      expect(JSON.parse(stdout)).toEqual({
        subpaths: entries.length,
        differing: [],
        answers: 2,
        runs: 1,
      })
      // Neither of experimental features nor of deprecated ones.
      expect(stderr).toBe('')
    },
  )

  test('runs the program', async () => {
    const main = join(project.installed, 'dist/cli/main.js')
    const { stdout } = await run(program, [main, 'version', '--json'])
    expect(JSON.parse(stdout)).toMatchObject({ node: version })
  })

  test('runs Jest in a CommonJS app without a setting', async () => {
    expect(await jest(program, 'jest-commonjs')).toMatchObject(passed(2))
  })

  test('runs Jest in an app of ES modules', async () => {
    const options = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning']
    expect(await jest(program, 'jest-modules', options)).toMatchObject(passed(1))
  })
})

test('runs Jest for a page in a simulated browser', async () => {
  expect(await jest(process.execPath, 'jest-page')).toMatchObject(passed(1))
})

test('runs Jest in a TypeScript app that is compiled to CommonJS', async () => {
  expect(await jest(process.execPath, 'jest-typescript')).toMatchObject(passed(1))
})

function passed(tests: number): object {
  const failed = { numFailedTestSuites: 0, numFailedTests: 0, messages: [] }
  return { success: true, numPassedTests: tests, ...failed }
}

/** Runs the tests of an app with Jest; answers what it reports. */
async function jest(
  program: string,
  app: string,
  options: readonly string[] = [],
): Promise<object> {
  const bin = join(jestFolder, 'node_modules/jest/bin/jest.js')
  const args = [...options, bin, '--json', '--no-cache', '--runInBand']
  const { stdout } = await run(program, args, { cwd: join(project.folder, app) }).catch(
    // Jest fails, and says in the same way what failed.
    (error: { stdout: string }) => error,
  )
  const report = JSON.parse(stdout)
  const messages = report.testResults.map(({ message }: { message: string }) => message)
  return { ...report, messages: messages.filter((message: string) => message !== '') }
}

/** A request that is sent twice, to an app of CommonJS. Of the answers the second is a replay. */
const USE = `
  async function use({ createReprise, memoryStore }, { idempotent }) {
    const reprise = createReprise({ store: memoryStore() })
    let runs = 0
    const handler = idempotent(reprise, { caller: () => 'c' }, async () => Response.json({ run: ++runs }))
    const post = () => handler(new Request('http://localhost/orders', {
      method: 'POST', body: '{}',
      headers: { 'Idempotency-Key': '"k-0123456789abcdef"', 'Content-Type': 'application/json' },
    }))
    const answers = [await (await post()).text(), await (await post()).text()]
    await reprise.close({ graceMs: 0 })
    return { runs, answers: answers.filter((answer) => answer === '{"run":1}').length }
  }
`

async function writePlainApps(): Promise<void> {
  const compare = `
    ${USE}
    async function main(require) {
      const differing = []
      const specifiers = ${SPECIFIERS}
      for (const specifier of specifiers) {
        const [required, imported] = [require(specifier), await import(specifier)]
        const names = Object.keys(required)
        if (names.length === 0 || names.sort().join() !== Object.keys(imported).sort().join())
          differing.push([specifier, names, Object.keys(imported)])
        for (const name of names)
          if (!Object.is(required[name], imported[name])) differing.push(specifier + ' ' + name)
      }
      const used = await use(require('reprise'), await import('reprise/fetch'))
      console.log(JSON.stringify({ subpaths: specifiers.length, differing, ...used }))
    }
  `
  await project.write('app.cjs', `${compare}\nmain(require)`)
  await project.write(
    'app.mjs',
    `import { createRequire } from 'node:module'\n${compare}\nawait main(createRequire(import.meta.url))`,
  )
}

/** Apps that are tested with Jest, each with its manifest; none has a setting for the package. */
async function writeJestApps(): Promise<void> {
  await project.write('jest-commonjs/package.json', '{ "name": "commonjs" }')
  await project.write(
    'jest-commonjs/app.test.js',
    `${USE}
    test('every subpath can be required', () => {
      const empty = ${SPECIFIERS}.filter((specifier) => Object.keys(require(specifier)).length === 0)
      expect(empty).toEqual([])
    })
    test('a retry is answered with what was stored', async () => {
      const used = await use(require('reprise'), require('reprise/fetch'))
      expect(used).toEqual({ runs: 1, answers: 2 })
    })`,
  )
  await project.write('jest-modules/package.json', '{ "name": "modules", "type": "module" }')
  await project.write(
    'jest-modules/app.test.js',
    `${USE}
    test('every subpath can be imported, and used', async () => {
      for (const specifier of ${SPECIFIERS})
        expect(Object.keys(await import(specifier))).not.toEqual([])
      const used = await use(await import('reprise'), await import('reprise/fetch'))
      expect(used).toEqual({ runs: 1, answers: 2 })
    })`,
  )
  const environment = join(jestFolder, 'node_modules/jest-environment-jsdom')
  await project.write('jest-page/package.json', '{ "name": "page" }')
  await project.write(
    'jest-page/app.test.js',
    `/** @jest-environment ${environment} */
    test('pages load the client', () => {
      expect(typeof window).toBe('object')
      for (const specifier of ${OF_PAGES}) expect(Object.keys(require(specifier))).not.toEqual([])
    })`,
  )
  await writeTypeScriptApp()
}

async function writeTypeScriptApp(): Promise<void> {
  const transform = { '.ts$': join(jestFolder, 'node_modules/ts-jest') }
  const manifest = { name: 'typescript', jest: { transform } }
  await project.write('jest-typescript/package.json', JSON.stringify(manifest))
  const compilerOptions = {
    ...{ module: 'commonjs', moduleResolution: 'node10', target: 'es2022', strict: true },
    ...{ esModuleInterop: true, types: ['jest', 'node'], skipLibCheck: true },
    typeRoots: [join(jestFolder, 'node_modules/@types')],
  }
  await project.write('jest-typescript/tsconfig.json', JSON.stringify({ compilerOptions }))
  await project.write(
    'jest-typescript/app.test.ts',
    `import { createReprise, memoryStore, type Reprise, RepriseError } from 'reprise'
    import { idempotent } from 'reprise/fetch'
    import * as postgres from 'reprise/postgres'
    test('the engine is typed, and used', async () => {
      const reprise: Reprise = createReprise({ store: memoryStore() })
      const handler = idempotent(reprise, { caller: () => 'c' }, async () => new Response('made'))
      const answer: Response = await handler(new Request('http://localhost/', { method: 'POST' }))
      expect(await answer.text()).toBe('made')
      expect(typeof postgres.postgresStore).toBe('function')
      expect(RepriseError.prototype).toBeInstanceOf(Error)
      await reprise.close({ graceMs: 0 })
    })`,
  )
}
