/**
 * One process, one engine: what `require` gives and what `import` gives is the same, in Node and in a bundle.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { build, type Platform } from 'esbuild'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { entries, type Project, packedProject } from './support/packed.ts'

const run = promisify(execFile)

let project: Project

beforeAll(async () => {
  project = await packedProject()
})

afterAll(async () => {
  await project.remove()
})

const SPECIFIERS = entries.map(({ specifier }) => specifier)

/** Lists every export that is not one object, whichever way it was loaded. */
const COMPARE = `
  const differing = []
  for (const [specifier, imported, required] of pairs) {
    const names = Object.keys(imported).sort()
    const others = Object.keys(required).sort()
    if (names.join() !== others.join()) differing.push([specifier, names, others])
    for (const name of names) {
      if (!Object.is(imported[name], required[name])) differing.push(specifier + ' ' + name)
    }
  }
  console.log(JSON.stringify({ differing, subpaths: pairs.length }))
`

/** The same request is sent twice to an app of which one half was required and the other imported. */
const USE = `
  const app = ({ createReprise, memoryStore }, { idempotent, runOf }) => {
    const reprise = createReprise({ store: memoryStore() })
    let runs = 0
    const handler = idempotent(reprise, { caller: () => 'c' }, async (request) => {
      runs++
      return Response.json({ run: runOf(request) !== undefined })
    })
    return { handler, runsOf: () => runs, close: () => reprise.close({ graceMs: 0 }) }
  }
  const post = () => new Request('http://localhost/orders', {
    method: 'POST', body: '{}', headers: { 'Idempotency-Key': '"k-0123456789abcdef"', 'Content-Type': 'application/json' },
  })
  const use = async (engine, adapter) => {
    const { handler, runsOf, close } = app(engine, adapter)
    const answers = [await (await handler(post())).text(), await (await handler(post())).text()]
    await close()
    return { answers, runs: runsOf() }
  }
`

async function output(file: string): Promise<unknown> {
  const { stdout } = await run(process.execPath, [file], { cwd: project.folder })
  return JSON.parse(stdout)
}

describe('one process that requires and imports', () => {
  test('gets the same object under each name of each subpath', async () => {
    const file = await project.write(
      'identity.mjs',
      `import { createRequire } from 'node:module'
      const require = createRequire(import.meta.url)
      const pairs = []
      for (const specifier of ${JSON.stringify(SPECIFIERS)})
        pairs.push([specifier, await import(specifier), require(specifier)])
      ${COMPARE}`,
    )
    expect(await output(file)).toEqual({ differing: [], subpaths: entries.length })
  })

  test('knows errors, and marks on requests, of the other half', async () => {
    const file = await project.write(
      'halves.mjs',
      `import { createRequire } from 'node:module'
      import * as imported from 'reprise'
      import * as importedFetch from 'reprise/fetch'
      const require = createRequire(import.meta.url)
      const [required, requiredFetch] = [require('reprise'), require('reprise/fetch')]
      ${USE}
      const thrown = []
      for (const [thrower, judge] of [[imported, required], [required, imported]]) {
        try {
          thrower.aesGcm({ current: 'missing', keys: {} })
        } catch (error) {
          thrown.push([error instanceof judge.RepriseError, judge.isRepriseError(error)])
        }
      }
      console.log(JSON.stringify({
        thrown,
        used: [await use(imported, requiredFetch), await use(required, importedFetch)],
        // The run is found by the other half: marks on requests are shared.
        mixed: await use(imported, { idempotent: requiredFetch.idempotent, runOf: importedFetch.runOf }),
      }))`,
    )
    const used = { answers: ['{"run":true}', '{"run":true}'], runs: 1 }
    expect(await output(file)).toEqual({
      thrown: [
        [true, true],
        [true, true],
      ],
      used: [used, used],
      mixed: used,
    })
  })

  test.each([
    ['reprise.config.mjs', `import { RepriseError } from 'reprise'`, 'export default'],
    ['reprise.config.cjs', `const { RepriseError } = require('reprise')`, 'module.exports ='],
  ])('shares the engine of the program with %s', async (name, load, give) => {
    const seen = join(project.folder, `${name}.json`)
    const file = await project.write(
      name,
      `${load}
      const { writeFileSync } = process.getBuiltinModule('node:fs')
      const { cache } = process.getBuiltinModule('node:module').createRequire(process.argv[1])
      const loaded = Object.values(cache).filter(({ filename }) => filename.includes('reprise'))
      const engines = loaded.filter(({ exports }) => Object.values(exports).includes(RepriseError))
      const names = engines.map(({ filename }) => /dist.(chunks|index)/.exec(filename)?.[1])
      writeFileSync(${JSON.stringify(seen)}, JSON.stringify(names.sort()))
      ${give} { schema: 'reprise' }`,
    )
    const main = join(project.installed, 'dist/cli/main.js')
    await run(process.execPath, [main, 'info', '--config', file], { cwd: project.folder })
    expect(JSON.parse(readFileSync(seen, 'utf8'))).toEqual(['chunks', 'index'])
  })
})

/** Bundles an app whose halves are loaded in both ways. */
async function bundled(platform: Platform): Promise<string> {
  const list = SPECIFIERS.map(
    (specifier, at) =>
      `import * as i${at} from '${specifier}'\nimport r${at} from './required-${at}.cjs'`,
  )
  for (const [at, specifier] of SPECIFIERS.entries()) {
    await project.write(`required-${at}.cjs`, `module.exports = require('${specifier}')`)
  }
  const pairs = SPECIFIERS.map((specifier, at) => `['${specifier}', i${at}, r${at}]`)
  const entry = await project.write(
    'bundle.mjs',
    `${list.join('\n')}\nconst pairs = [${pairs.join(', ')}]\n${COMPARE}`,
  )
  const outfile = `${project.folder}/bundled-${platform}.mjs`
  await build({
    ...{ entryPoints: [entry], bundle: true, format: 'esm', outfile, logLevel: 'silent' },
    ...{ platform, external: ['node:*'] },
  })
  return outfile
}

describe('one bundle that requires and imports', () => {
  test.each(['node', 'browser'] as const)('has one engine: %s', async (platform) => {
    const file = await bundled(platform)
    expect(await output(file)).toEqual({ differing: [], subpaths: entries.length })
  })

  test('has only what the app uses', async () => {
    const entry = await project.write(
      'small.mjs',
      `import { createReprise, memoryStore } from 'reprise'
      import { idempotent } from 'reprise/hono'
      export default [createReprise, memoryStore, idempotent]`,
    )
    const { metafile } = await build({
      ...{ entryPoints: [entry], bundle: true, format: 'esm', platform: 'node', write: false },
      ...{ metafile: true, minify: true, logLevel: 'silent' },
    })
    const [out] = Object.values(metafile.outputs)
    const files = Object.keys(out?.inputs ?? {})
    expect(files.filter((file) => /reprise\/dist\/(?!esm)/.test(file))).toEqual([])
    expect(out?.bytes).toBeLessThan(90_000)
    console.info(`reprise/hono with createReprise and memoryStore, by esbuild: ${out?.bytes} bytes`)
  })
})
