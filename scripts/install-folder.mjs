/**
 * Installs the packages of a folder that has a manifest and a lock of its own, on demand: what only some tests
 * need, and what weighs more than everything else together, is not in the manifest of the repository.
 */

import { exec } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(exec)

/**
 * Runs `npm ci` in a folder, unless what is there was installed from the same files and with the same Node.
 * Answers whether it had to install.
 *
 * @param {string} folder
 * @param {object} [options]
 * @param {readonly string[]} [options.files] - what else, besides the lock, decides what is installed
 * @param {readonly string[]} [options.finish] - commands that finish the installation
 * @param {NodeJS.ProcessEnv} [options.env]
 * @throws Error if a command fails, with what it wrote
 */
export async function installFolder(folder, { files = [], finish = [], env = process.env } = {}) {
  const stamp = join(folder, 'node_modules', '.stamp')
  const digest = createHash('sha256')
  for (const file of ['package-lock.json', ...files])
    digest.update(readFileSync(join(folder, file)))
  const installed = `${process.version} ${digest.digest('hex')}`
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === installed) return false

  // An installation that ended half-way has no stamp.
  rmSync(stamp, { force: true })
  for (const command of ['npm ci --no-audit --no-fund --loglevel=error', ...finish]) {
    try {
      await run(command, { cwd: folder, env, maxBuffer: Number.POSITIVE_INFINITY })
    } catch (error) {
      const text = `${command} failed in ${folder}:\n${error.stdout}${error.stderr}`
      throw new Error(text, { cause: error })
    }
  }
  writeFileSync(stamp, installed)
  return true
}
