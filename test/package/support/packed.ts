/**
 * The package as its users get it: packed, and unpacked into a project of its own.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, posix } from 'node:path'
import { promisify } from 'node:util'
import { type Conditions, nameOf } from '../../../scripts/formats.mjs'

const run = promisify(execFile)

/** The folder of the repository. */
export const root: string = join(import.meta.dirname, '../../..')

/** The manifest of the package. */
export const manifest: {
  readonly exports: Readonly<Record<string, unknown>>
  readonly typesVersions: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>
  readonly bin: Readonly<Record<string, string>>
  readonly main: string
  readonly types: string
  readonly version: string
} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/** Every subpath that is a module, with what `exports` says of it and its source below `src`. */
export const entries: readonly {
  /** As in `exports`, such as `./express`. */
  readonly subpath: string
  /** As an app names it, such as `reprise/express`. */
  readonly specifier: string
  readonly name: string
  readonly conditions: Conditions
}[] = Object.entries(manifest.exports).flatMap(([subpath, target]) => {
  const name = nameOf(target)
  if (name === undefined) return []
  // A name is only found in conditions.
  const conditions = target as Conditions
  return [{ subpath, specifier: posix.join('reprise', subpath), name, conditions }]
})

/** A project that has the package installed. */
export interface Project {
  /** Its folder. */
  readonly folder: string
  /** The folder of the package in it. */
  readonly installed: string
  /** Writes a file, with the folders that it needs. Answers its path. */
  write(name: string, text: string): Promise<string>
  /** Makes a package that the repository has a package of the project too. */
  link(name: string, from?: string): Promise<void>
  remove(): Promise<void>
}

/** Packs the package and unpacks it into a project of its own, which has nothing else. */
export async function packedProject(): Promise<Project> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-package-'))
  const installed = join(folder, 'node_modules', 'reprise')
  await mkdir(installed, { recursive: true })
  const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder]
  await run('npm', pack, { cwd: root })
  const tarball = join(folder, `reprise-${manifest.version}.tgz`)
  await run('tar', ['-xzf', tarball, '-C', installed, '--strip-components=1'])
  return {
    ...{ folder, installed },
    async write(name, text) {
      const file = join(folder, name)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
      return file
    },
    async link(name, from = join(root, 'node_modules')) {
      const link = join(folder, 'node_modules', name)
      await mkdir(dirname(link), { recursive: true })
      await symlink(join(from, name), link)
    },
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
