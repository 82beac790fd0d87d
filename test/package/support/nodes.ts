/**
 * Versions of Node, from packages of npm that are only installed for these tests.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { installFolder } from '../../../scripts/install-folder.mjs'
import { notRun } from '../../support/not-run.ts'

const folder = join(import.meta.dirname, '../nodes')

/** A version of Node. */
export interface NodeVersion {
  readonly version: string
  /** Its program. */
  readonly program: string
}

/**
 * Installs the versions of `test/package/nodes`. Those that do not exist for this kind of machine are listed as
 * not run.
 */
export async function installNodes(suite: string): Promise<readonly NodeVersion[]> {
  await installFolder(folder)
  const text = readFileSync(join(folder, 'package.json'), 'utf8')
  const { optionalDependencies: packages }: { optionalDependencies: Record<string, string> } =
    JSON.parse(text)
  return Object.entries(packages).flatMap(([name, source]) => {
    const program = join(folder, 'node_modules', name, 'bin/node')
    const version = source.split('@').at(-1) ?? ''
    if (existsSync(program)) return [{ version, program }]
    const reason = `there is no Node ${version} for ${process.platform} ${process.arch} on npm`
    notRun({ suite: `${suite} on Node ${version}`, reason, allowedInCi: true })
    return []
  })
}
