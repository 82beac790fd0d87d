import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { ROOT } from './source.ts'

it('the tests notice every mistake that did harm once', { timeout: 900_000 }, () => {
  const main = join(import.meta.dirname, 'main.ts')
  const run = spawnSync(process.execPath, ['--import', 'tsx', main, '--known'], {
    ...{ cwd: ROOT, encoding: 'utf8' },
  })
  expect([run.status, run.stdout]).toEqual([0, expect.stringContaining(', 0 not,')])
})
