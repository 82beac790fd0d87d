/**
 * What an app pays for the package in its bundle.
 *
 * @module
 */

import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { beforeAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
/** Holds the line until transactions, encryption and the texts of errors are imports of their own. */
const BYTES_MAX = 20_000

const ENTRY = 'virtual:entry'
const SOURCE = `
  export { createReprise, memoryStore } from '${root}/src/index.ts'
  export { idempotent } from '${root}/src/adapters/hono.ts'
`

let code: string
let modules: readonly string[]

beforeAll(async () => {
  const built = await build({
    ...{ root, configFile: false, logLevel: 'silent' },
    plugins: [
      {
        name: 'entry',
        resolveId: (id) => (id.endsWith(ENTRY) ? ENTRY : undefined),
        load: (id) => (id === ENTRY ? SOURCE : undefined),
      },
    ],
    build: {
      ...{ write: false, minify: true, target: 'node20' },
      lib: { entry: ENTRY, formats: ['es'] },
      // Said again here, because libraries are left readable by default.
      rolldownOptions: { external: [...builtinModules, /^node:/], output: { minify: true } },
    },
  })
  const [output] = [built].flat()
  if (output === undefined || !('output' in output)) throw new Error('Nothing was built.')
  const [chunk] = output.output
  code = chunk.code
  modules = chunk.moduleIds.map((id) => id.replace(`${root}/src/`, ''))
})

describe('Hono with the memory store', () => {
  test(`takes at most ${BYTES_MAX} bytes of a bundle, minified and compressed`, () => {
    const bytes = gzipSync(code, { level: 9 }).byteLength
    console.info(`reprise/hono with createReprise and memoryStore: ${bytes} bytes gzip`)
    expect(bytes).toBeLessThanOrEqual(BYTES_MAX)
  })

  test('brings one dialect, one store, one adapter and no framework', () => {
    const unwanted = modules.filter((id) =>
      /dialects\/(?!dialect|ietf|marks|refuse)|stores\/(?!memory|answer|watchers)|adapters\/node|node_modules/.test(
        id,
      ),
    )
    expect(unwanted).toEqual([])
    expect(modules).toContain('core/dialects/ietf.ts')
  })
})
