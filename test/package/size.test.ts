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
/**
 * Holds the line: what makes it longer is worth an import of its own, or a word here. 1.5 kB of it is
 * what requests do without promises and timers of their own, 0.2 kB how an old Hono is refused, 0.2 kB
 * what Bun, Deno and workerd need, and 30 bytes what tells a problem's URN from the address of its page.
 */
const BYTES_MAX = 20_860

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
