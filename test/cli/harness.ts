/**
 * Runs the command line in this process, as a terminal would run it.
 *
 * @module
 */

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { ExitCode } from '../../src/cli/errors.ts'
import type { Io } from '../../src/cli/io.ts'
import { run } from '../../src/cli/run.ts'
import { systemClock, systemRandom } from '../../src/engine/clock.ts'

/** Where the command is run, and who sits there. */
export interface World {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  /** What somebody types, line by line; without it nobody sits there. */
  readonly typed?: readonly string[]
  /** What is piped in. */
  readonly piped?: string
  readonly clock?: Io['clock']
  /** Interrupts the command. */
  readonly interrupt?: AbortController
  /** Program that is started again as a process. */
  readonly program?: string
  /** Given what presses a key, once somebody listens for keys. */
  readonly onKeys?: (press: (key: string) => void) => void
  /** Told of every page that is opened. */
  readonly onOpen?: (url: string) => void
  /** Told of every piece of output. */
  readonly onOutput?: (text: string) => void
}

/** What came of it. */
export interface Ran {
  readonly exit: ExitCode
  readonly stdout: string
  readonly stderr: string
  /** What was asked. */
  readonly asked: readonly string[]
  /** The document on stdout; throws unless it is exactly one. */
  readonly document: Readonly<Record<string, unknown>>
}

/** Runs a command line. */
export async function cli(argv: readonly string[], world: World = {}): Promise<Ran> {
  const written = { stdout: '', stderr: '' }
  const asked: string[] = []
  const lines = [...(world.typed ?? [])]
  const isTTY = world.typed !== undefined
  const out = (name: 'stdout' | 'stderr') => ({
    ...{ isTTY, columns: 80 },
    write(text: string) {
      written[name] += text
      world.onOutput?.(text)
    },
  })
  const io: Io = {
    ...{ stdout: out('stdout'), stderr: out('stderr'), env: world.env ?? {} },
    ...{ cwd: world.cwd ?? emptyFolder(), clock: world.clock ?? systemClock, random: systemRandom },
    interrupted: (world.interrupt ?? new AbortController()).signal,
    ...{ program: world.program ?? '', open: (url) => world.onOpen?.(url) },
    stdin: {
      isTTY,
      all: async () => world.piped ?? '',
      ask: async (question) => {
        asked.push(question)
        return lines.shift()
      },
      keys: (press) => {
        world.onKeys?.(press)
        return () => {}
      },
    },
  }
  const exit = await run(argv, io)
  return {
    ...{ exit, ...written, asked },
    get document() {
      return JSON.parse(written.stdout)
    },
  }
}

/** A folder that is gone after the test. */
function emptyFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-cli-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** A project with these files; packages are those of this repository. */
export function project(
  files: Readonly<Record<string, string>>,
  packages: readonly string[] = [],
): string {
  const folder = emptyFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  for (const name of packages) {
    mkdirSync(dirname(join(folder, 'node_modules', name)), { recursive: true })
    const target = join(import.meta.dirname, '../../node_modules', name)
    symlinkSync(target, join(folder, 'node_modules', name))
  }
  return folder
}
