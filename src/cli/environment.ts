/**
 * What a report of a bug needs, with nothing secret in it.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import { dirname, isAbsolute, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Io } from './io.ts'

/** Where this package is on the disk, and its version. */
interface PackagePlace {
  readonly folder: string
  readonly version: string
}

function placeOfPackage(): PackagePlace | undefined {
  // Beside `dist` in the package, beside `src` in its repository.
  for (const above of ['../../package.json', '../package.json']) {
    const path = fileURLToPath(new URL(above, import.meta.url))
    if (!existsSync(path)) continue
    const { name, version }: { name?: unknown; version?: unknown } = JSON.parse(
      readFileSync(path, 'utf8'),
    )
    if (name === 'reprise') return { folder: dirname(path), version: String(version) }
  }
  return undefined
}

/**
 * Where a page of the documentation is on this machine: the path from the current folder if the page
 * is below it, as in a project that has installed the package, else the whole path, as under `npx`.
 *
 * @param page - path below `docs`, with the section after a `#`
 */
export function pagePathOf(page: string, cwd: string): string {
  const folder = placeOfPackage()?.folder ?? join('node_modules', 'reprise')
  const path = join(folder, 'docs', page)
  const below = relative(cwd, path)
  return below.startsWith('..') || isAbsolute(below) ? path : below
}

/** Versions of what the command runs on. */
export interface Environment {
  readonly reprise: string
  readonly node: string
  readonly platform: string
  readonly isTerminal: boolean
  readonly isCi: boolean
}

/** Looks at what the command runs on. */
export function environmentOf({ stdout, env }: Pick<Io, 'stdout' | 'env'>): Environment {
  return {
    reprise: placeOfPackage()?.version ?? 'unknown',
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    isTerminal: stdout.isTTY,
    isCi: (env['CI'] ?? '') !== '',
  }
}
