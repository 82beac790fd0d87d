/**
 * What a report of a bug needs, with nothing secret in it.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Io } from './io.ts'

/** The version of this package. */
function versionOfPackage(): string {
  // Beside `dist` in the package, beside `src` in its repository.
  for (const above of ['../../package.json', '../package.json']) {
    const path = fileURLToPath(new URL(above, import.meta.url))
    if (!existsSync(path)) continue
    const { name, version }: { name?: unknown; version?: unknown } = JSON.parse(
      readFileSync(path, 'utf8'),
    )
    if (name === 'reprise') return String(version)
  }
  return 'unknown'
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
    reprise: versionOfPackage(),
    node: process.versions.node,
    platform: `${process.platform} ${process.arch}`,
    isTerminal: stdout.isTTY,
    isCi: (env['CI'] ?? '') !== '',
  }
}
