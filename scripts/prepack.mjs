/**
 * Runs before the package is packed or measured: builds it where nothing is built, or where a source is newer
 * than what was built from it. Without it `npm pack` would make a package without code, and say so
 * to nobody. What is up to date is left alone, because others may be reading it.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Paths below a folder, without what follows the name. */
function stems(folder, ending) {
  if (!existsSync(join(root, folder))) return []
  return readdirSync(join(root, folder), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith(ending))
    .map((name) => name.slice(0, -ending.length))
}

function isStale() {
  // Written last of all.
  if (!existsSync(join(root, 'dist/package.json'))) return true
  const sources = stems('src', '.ts')
  const changed = sources.some((stem) => {
    const built = join(root, 'dist', `${stem}.d.ts`)
    return (
      !existsSync(built) ||
      statSync(built).mtimeMs < statSync(join(root, 'src', `${stem}.ts`)).mtimeMs
    )
  })
  // What was built from a source that is gone would be packed with the rest.
  return changed || stems('dist', '.d.ts').some((stem) => !sources.includes(stem))
}

if (isStale()) {
  console.error('dist is missing or older than src: it is built first.')
  // The name of the package is all that goes to stdout.
  const stdio = ['ignore', process.stderr, process.stderr]
  const { status } = spawnSync('npm', ['run', 'build'], { cwd: root, stdio, shell: true })
  if (status !== 0) {
    console.error('The build failed: there is nothing to pack.')
    process.exit(status || 1)
  }
}
