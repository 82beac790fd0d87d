/**
 * What a page pays for the client in its bundle.
 *
 * @module
 */

import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { beforeAll, describe, expect, test } from 'vitest'

const src = join(import.meta.dirname, '../../src')

let code: string
let modules: readonly string[]

beforeAll(async () => {
  const built = await build({
    ...{ root: src, configFile: false, logLevel: 'silent' },
    build: {
      ...{ write: false, minify: true, target: 'es2022' },
      lib: { entry: join(src, 'client/index.ts'), formats: ['es'] },
      rolldownOptions: { output: { minify: true } },
    },
  })
  const [output] = [built].flat()
  if (output === undefined || !('output' in output)) throw new Error('Nothing was built.')
  const [chunk] = output.output
  // Libraries keep these notes for the bundler of the page, which drops them.
  code = chunk.code.replaceAll('/* @__PURE__ */ ', '')
  modules = chunk.moduleIds.map((id) => id.replace(`${src}/`, ''))
  // A report and not a limit: the reader decides how the code is written.
  console.info(`reprise/client: ${gzipSync(code, { level: 9 }).byteLength} bytes gzip`)
})

describe('reprise/client, all of it', () => {
  test('needs no module of Node, no texts of errors and no dialect', () => {
    expect(code).not.toMatch(/\b(import|require)\b/)
    const core = modules.filter((id) => !id.startsWith('client/'))
    expect(core).toEqual(['core/dialects/marks.ts'])
  })
})

/** What pages import besides. */
describe.each(['form', 'web-journals', 'axios', 'ky'])('reprise/client/%s', (name) => {
  test('needs no module of Node', async () => {
    const entry = join(src, `client/${name}.ts`)
    const lib = { entry, formats: ['es' as const] }
    const built = await build({
      ...{ root: src, configFile: false, logLevel: 'silent' },
      build: { write: false, lib },
    })
    const [output] = [built].flat()
    if (output === undefined || !('output' in output)) throw new Error('Nothing was built.')
    expect(output.output[0].code).not.toMatch(/^import\b|\brequire\(/m)
  })
})
