/**
 * What a command is.
 *
 * @module
 */

import type { ExitCode } from './errors.ts'
import type { Flags } from './flags.ts'
import type { Io } from './io.ts'
import type { Output } from './output.ts'
import type { Project } from './project.ts'

/** One flag of a command. */
export interface Flag {
  /** Without the dashes, in kebab-case. */
  readonly name: string
  /** One letter. */
  readonly short?: string
  /** `switch` takes no value; `duration` is a number with `ms`, `s`, `m`, `h` or `d`. */
  readonly type: 'switch' | 'text' | 'whole' | 'duration' | 'choice'
  readonly choices?: readonly string[]
  /** How the value is called in the help. */
  readonly value?: string
  /** What it does, in a few words. */
  readonly summary: string
  /** Environment variables that answer for it, the first one first. */
  readonly env?: readonly string[]
  /** Member of the configuration that answers for it. */
  readonly config?: string
  /** As it would be typed. */
  readonly default?: string
  /** Whether it may be given several times. */
  readonly isMany?: boolean
  /** Whether its value is never shown. */
  readonly isSecret?: boolean
}

/** What a command came to. */
export interface Result {
  /** @default 0 */
  readonly exit?: ExitCode
  /** The one document that `--json` prints. */
  readonly document: unknown
  /** The same for people. */
  readonly text: string
  /** What `-o ids` prints, one on each line. */
  readonly ids?: readonly string[]
}

/** What a command is run with. */
export interface Context {
  readonly io: Io
  readonly out: Output
  readonly flags: Flags
  /** What stands on the command line beside flags. */
  readonly args: readonly string[]
  readonly project: Project
}

/** A command of the table. */
export interface Command {
  /** One or two words. */
  readonly name: string
  readonly summary: string
  /** Further sentences for the help. */
  readonly details?: readonly string[]
  /** What stands beside flags, such as `<id>`; `[…]` may be left out. */
  readonly args?: string
  readonly flags: readonly Flag[]
  /** Whole command lines that can be run, each with what it does. */
  readonly examples: readonly (readonly [line: string, what: string])[]
  /** Whether it is not shown: started by other commands only. */
  readonly isHidden?: boolean
  /**
   * Whether the configuration is read; `optional` goes on where it can not be.
   *
   * @default 'needed'
   */
  readonly config?: 'needed' | 'optional' | 'ignored'
  /** Whether it runs until it is interrupted, and ends in good order then. */
  readonly isLong?: boolean
  /** Gives `undefined` when it has printed everything itself. */
  run(context: Context): Promise<Result | undefined>
}
