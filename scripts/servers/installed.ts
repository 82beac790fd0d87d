/**
 * Servers that no npm package brings: found on the PATH, or missing.
 *
 * @module
 */

import { access, constants } from 'node:fs/promises'
import { delimiter, join } from 'node:path'

/** Why there is no server. */
export interface NoServer {
  readonly missing: string
}

/** The first of the programs that some folder of the PATH has. */
export async function installedProgram(
  path: string,
  programs: readonly string[],
): Promise<string | undefined> {
  for (const program of programs) {
    for (const folder of path.split(delimiter)) {
      const file = join(folder, program)
      if (await isProgram(file)) return file
    }
  }
  return undefined
}

function isProgram(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
