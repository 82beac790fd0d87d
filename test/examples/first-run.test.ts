import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, inject, it } from 'vitest'

const root = join(import.meta.dirname, '../..')
const tsx = join(root, 'node_modules/tsx/dist/cli.mjs')

it('the first run shows one charge where there would have been many', async () => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [tsx, join(root, 'examples/first-run/main.ts')],
    { env: { ...process.env, DATABASE_URL: inject('postgres').url } },
  )

  const [, unprotected, charges] =
    /Charges made: (\d+) without Reprise, (\d+) with it/.exec(stdout) ?? []
  expect(charges).toBe('1')
  expect(Number(unprotected)).toBeGreaterThan(1)
  expect(stdout.match(/ replayed /g)).toHaveLength(9)
})
