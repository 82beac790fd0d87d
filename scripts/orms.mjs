/**
 * Installs the ORMs of test/orms, unless they are there already, then lints their tests, checks their
 * types and runs them. Apart from the rest, because they weigh more than everything else together.
 */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { installFolder } from './install-folder.mjs'

const root = join(import.meta.dirname, '..')

try {
  console.log('Installing the ORMs into test/orms, unless they are there …')
  await installFolder(join(root, 'test', 'orms'), {
    files: ['schema.prisma'],
    finish: ['npm exec --no -- prisma generate --schema=schema.prisma'],
    // Generating needs no engine, but is not done without one: any program will do.
    env: { ...process.env, PRISMA_SCHEMA_ENGINE_BINARY: process.execPath },
  })
} catch (error) {
  console.error(
    `\nTHE ORMS COULD NOT BE INSTALLED, SO NOTHING OF THEM WAS TESTED: ${error.message}`,
  )
  process.exit(1)
}
run('oxlint --type-aware --deny-warnings test/orms')
run('tsc --noEmit -p test/orms')
run('vitest run --config test/orms/vitest.config.ts')

/** Runs a command; where it fails, says so and ends everything. */
function run(command) {
  const { status } = spawnSync(command, { cwd: root, stdio: 'inherit', shell: true })
  if (status === 0) return
  console.error(`\n${command} failed.`)
  process.exit(status || 1)
}
