/**
 * Drives more random histories through every store and the model than a test run does:
 * `npm run differential -- 20000 [seed] [store …]`, for instance `-- 20000 7 redis`.
 */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

const [histories = '2000', seed = String(Date.now() % 1_000_000), ...stores] = process.argv.slice(2)
const filters = stores.length > 0 ? stores : ['']
const vitest = join(import.meta.dirname, '..', 'node_modules', 'vitest', 'vitest.mjs')

console.log(`${histories} histories per store, seed ${seed}`)
const { status } = spawnSync(
  process.execPath,
  [vitest, 'run', ...filters.map((store) => `test/conformance/${store}`), '-t', 'equals the model'],
  {
    cwd: join(import.meta.dirname, '..'),
    env: { ...process.env, REPRISE_HISTORIES: histories, REPRISE_SEED: seed },
    stdio: 'inherit',
  },
)
process.exit(status ?? 1)
