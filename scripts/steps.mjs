/**
 * Takes scripts of package.json one after the other, says which one is at work and how long it
 * took, and ends at the first that fails: `node scripts/steps.mjs lint types`.
 */

import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'

const root = join(import.meta.dirname, '..')
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter)

for (const name of process.argv.slice(2)) {
  const command = scripts[name]
  if (command === undefined) throw new Error(`package.json has no script named ${name}.`)

  console.log(`\n=== ${name}: ${command}`)
  const started = performance.now()
  const { status } = spawnSync(command, {
    cwd: root,
    env: { ...process.env, PATH },
    shell: true,
    stdio: 'inherit',
  })
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  if (status !== 0) {
    console.error(`\n=== ${name} FAILED after ${seconds} s`)
    process.exit(status ?? 1)
  }
  console.log(`=== ${name} passed in ${seconds} s`)
}
