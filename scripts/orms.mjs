/**
 * Installs the ORMs of test/orms, unless they are there already, then lints their tests, checks their
 * types and runs them. Apart from the rest, because they weigh more than everything else together.
 *
 * Where npm cannot install them, says so: they were not run, which is a failure if `CI` is set.
 */

import { spawnSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { installFolder, NotInstalled } from './install-folder.mjs'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'test', 'orms')

/** Generates Prisma's client, as part of the installation. */
function generate(installed) {
  copyFileSync(join(folder, 'schema.prisma'), join(installed, 'schema.prisma'))
  // Generating needs no engine, but is not done without one: any program will do.
  const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }
  run('npm exec --no -- prisma generate --schema=schema.prisma', { cwd: installed, env })
}

/** Runs a command; where it fails, says so and ends everything. */
function run(command, options = {}) {
  const { status } = spawnSync(command, { cwd: root, stdio: 'inherit', shell: true, ...options })
  if (status === 0) return
  console.error(`\n${command} failed.`)
  process.exit(status || 1)
}

try {
  await installFolder(folder, { prepare: generate, also: ['schema.prisma'] })
} catch (error) {
  if (!(error instanceof NotInstalled)) throw error
  console.error(`\nNOT RUN:\n  test/orms: ${error.message}`)
  if (process.env.CI) console.error('In CI everything has to run: this run fails.')
  process.exit(process.env.CI ? 1 : 0)
}
run('oxlint --type-aware --deny-warnings test/orms')
run('tsc --noEmit -p test/orms')
run('vitest run --config test/orms/vitest.config.ts')
