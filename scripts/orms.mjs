/**
 * Installs the ORMs of test/orms, unless they are there already, then lints their tests, checks their
 * types and runs them. Apart from the rest, because they weigh more than everything else together.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'test', 'orms')
const stamp = join(folder, 'node_modules', '.stamp')

const digest = createHash('sha256')
for (const file of ['package-lock.json', 'schema.prisma']) {
  digest.update(readFileSync(join(folder, file)))
}
const installed = `${process.version} ${digest.digest('hex')}`

// Generating needs no engine, but is not done without one: any program will do.
const env = { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath }

if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== installed) {
  console.log('Installing the ORMs into test/orms …')
  run('npm ci --no-audit --no-fund --loglevel=error', folder)
  run('npm exec --no -- prisma generate --schema=schema.prisma', folder)
  writeFileSync(stamp, installed)
}
run('oxlint --type-aware --deny-warnings test/orms', root)
run('tsc --noEmit -p test/orms', root)
run('vitest run --config test/orms/vitest.config.ts', root)

/** Runs a command; where it fails, says so and ends everything. */
function run(command, cwd) {
  const { status } = spawnSync(command, { cwd, env, stdio: 'inherit', shell: true })
  if (status === 0) return
  const what =
    cwd === folder ? 'THE ORMS COULD NOT BE INSTALLED, SO NOTHING OF THEM WAS TESTED: ' : ''
  console.error(`\n${what}${command} failed.`)
  process.exit(status || 1)
}
