/**
 * Installs the packages of a folder that has a package.json and a lock file of its own, such as
 * `test/browser`: `node scripts/install-folder.mjs test/browser`. Does nothing if they are there as
 * the lock file says. What it installs runs no install script.
 *
 * npm works in a folder beside the final one, which takes the final name at the end in one step:
 * whoever finds `node_modules` finds all of it, also if two processes install at once.
 *
 * Exit code 0: installed. Exit code 1: could not be installed; the reason is on standard error.
 */

import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'

const STAMP = '.installed'
const FILES = ['package.json', 'package-lock.json', '.npmrc']
const FLAGS = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
/** First from npm's cache alone, which takes no network; then with the network, trying once more. */
const SOURCES = [
  ['--offline'],
  ['--prefer-offline', '--fetch-retries=1', '--fetch-retry-mintimeout=1000'],
]

/** The packages could not be installed; the message says why. */
export class NotInstalled extends Error {}

/**
 * Installs the packages of `folder`, unless they are there.
 *
 * @param {string} folder - has package.json and package-lock.json
 * @param {(folder: string) => void | Promise<void>} [prepare] - does what else belongs to the
 *   installation, below `node_modules` of the folder that it is given
 * @throws NotInstalled where a package is neither in npm's cache nor can be fetched
 */
export async function installFolder(folder, prepare = () => {}) {
  const mark = markOf(folder)
  const modules = join(folder, 'node_modules')
  if (isInstalled(modules, mark)) return

  const draft = mkdtempSync(join(folder, '.installing-'))
  try {
    for (const file of FILES) {
      if (existsSync(join(folder, file))) copyFileSync(join(folder, file), join(draft, file))
    }
    runNpm(draft)
    await prepare(draft)
    writeFileSync(join(draft, 'node_modules', STAMP), mark)
    moveInto(modules, draft, mark)
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
}

/** Names the state of the folder. It is the same for every Node, because nothing is compiled. */
function markOf(folder) {
  const digest = createHash('sha256').update(readFileSync(join(folder, 'package-lock.json')))
  return `${process.platform} ${process.arch} ${digest.digest('hex')}`
}

function isInstalled(modules, mark) {
  const stamp = join(modules, STAMP)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === mark
}

function runNpm(folder) {
  let output = ''
  for (const source of SOURCES) {
    const { status, stdout, stderr, error } = spawnSync('npm', ['ci', ...FLAGS, ...source], {
      cwd: folder,
      encoding: 'utf8',
      shell: process.platform === 'win32',
    })
    if (status === 0) return
    output = error?.message ?? `${stdout}${stderr}`
  }
  throw new NotInstalled(`npm could not install it: ${reasonOf(output)}`)
}

/** The first line of npm's that says something to a person. */
function reasonOf(output) {
  const lines = output.split('\n').map((line) => line.replace(/^npm (error|ERR!) ?/, '').trim())
  const isWord = (line) => line !== '' && !/^(code|errno|syscall|A complete log)/.test(line)
  return lines.find(isWord) ?? 'it did not say why'
}

/** Gives the finished packages their name. If another process was faster, its packages stay. */
function moveInto(modules, draft, mark) {
  for (;;) {
    try {
      return renameSync(join(draft, 'node_modules'), modules)
    } catch (error) {
      if (!['ENOTEMPTY', 'EEXIST', 'EPERM'].includes(error.code)) throw error
      if (isInstalled(modules, mark)) return
      moveAway(modules, mkdtempSync(join(draft, 'old-')))
    }
  }
}

function moveAway(modules, place) {
  try {
    renameSync(modules, place)
  } catch (error) {
    // Another process moved it away.
    if (error.code !== 'ENOENT') throw error
  }
}

if (process.argv[1] === import.meta.filename) {
  try {
    await installFolder(resolve(process.argv[2] ?? '.'))
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error
    console.error(error.message)
    process.exitCode = 1
  }
}
