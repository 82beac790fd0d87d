/**
 * What an app pays for the package in its bundle.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { build } from 'vite'
import { beforeAll, describe, expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
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
      rolldownOptions: {
        external: [...builtinModules, /^node:/],
        // Said again here, because libraries are left readable by default, with notes for bundlers.
        output: { minify: true, comments: false },
      },
    },
  })
  const [output] = [built].flat()
  if (output === undefined || !('output' in output)) throw new Error('Nothing was built.')
  const [chunk] = output.output
  code = chunk.code
  modules = chunk.moduleIds.map((id) => id.replace(`${root}/src/`, ''))
  // A report and not a limit: the reader decides how the code is written.
  const bytes = gzipSync(code, { level: 9 }).byteLength
  console.info(`reprise/hono with createReprise and memoryStore: ${bytes} bytes gzip`)
})

describe('Hono with the memory store', () => {
  test('brings one dialect, one store, one adapter and no framework', () => {
    const unwanted = modules.filter((id) =>
      /dialects\/(?!dialect|ietf|marks|refuse)|stores\/(?!memory|answer|watchers)|adapters\/node|node_modules/.test(
        id,
      ),
    )
    expect(unwanted).toEqual([])
    expect(modules).toContain('core/dialects/ietf.ts')
  })

  test.each([
    'engine/transact.ts',
    'engine/transaction-run.ts',
    'engine/aes-gcm.ts',
    'engine/key-age.ts',
    'core/secret.ts',
    'core/json-value.ts',
  ])('does not bring %s, which is an import of its own', (id) => {
    expect(existsSync(join(root, 'src', id))).toBe(true)
    expect(modules).not.toContain(id)
  })

  test.each(['createCipheriv', 'createHmac', 'aes-256-gcm', 'success-only'])(
    'has no trace of %s',
    (name) => {
      expect(code).not.toContain(name)
    },
  )

  test('keeps the check of percent-encoded parameters, which a bundler could take for idle', () => {
    expect(code).toContain('decodeURIComponent(')
  })
})
