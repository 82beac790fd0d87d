/**
 * Servers that no npm package brings: found on the PATH, or missing.
 *
 * @module
 */

import { access, constants } from 'node:fs/promises'
import { basename, delimiter, dirname, join } from 'node:path'

/** Why there is no server. */
export interface NoServer {
  readonly missing: string
}

/**
 * The first of the programs that some folder of the PATH has. Debian puts servers into the `sbin` beside a
 * `bin`, and the PATH of a user need not name it.
 */
export async function installedProgram(
  path: string,
  programs: readonly string[],
): Promise<string | undefined> {
  for (const program of programs) {
    for (const folder of path.split(delimiter).flatMap(withServers)) {
      const file = join(folder, program)
      if (await isProgram(file)) return file
    }
  }
  return undefined
}

function withServers(folder: string): readonly string[] {
  return basename(folder) === 'bin' ? [folder, join(dirname(folder), 'sbin')] : [folder]
}

function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
