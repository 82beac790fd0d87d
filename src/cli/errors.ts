/**
 * How a command fails: exit codes, and one table of errors. Each code has its line in `docs/cli.md`;
 * a test holds table and page together in both directions.
 *
 * @module
 */

/** What the process ends with. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  problems: 3,
  notFound: 4,
  unreachable: 5,
  refused: 6,
  interrupted: 130,
} as const

/** One of the exit codes. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** What each exit code says. */
export const EXIT_MEANINGS: Readonly<Record<ExitCode, string>> = {
  0: 'ok',
  1: 'the operation failed, or a part of it',
  2: 'bad usage or configuration',
  3: 'a check found problems (doctor, migrate status, check, send)',
  4: 'not found',
  5: 'the store can not be reached',
  6: 'refused: a confirmation is missing, or the state forbids it',
  130: 'interrupted',
}

/** A code of the table. */
export type CliErrorCode =
  | 'REPRISE_E_USAGE'
  | 'REPRISE_E_CONFIG'
  | 'REPRISE_E_DATABASE'
  | 'REPRISE_E_DRIVER'
  | 'REPRISE_E_FAILED'
  | 'REPRISE_E_SCHEMA'
  | 'REPRISE_E_PORT'
  | 'REPRISE_E_NOT_FOUND'
  | 'REPRISE_E_UNREACHABLE'
  | 'REPRISE_E_CONFIRM'
  | 'REPRISE_E_REFUSED'
  | 'REPRISE_E_INTERRUPTED'
  | 'REPRISE_E_BUG'

/** One row of the table. */
export interface CliErrorEntry {
  readonly exit: ExitCode
  /** The same for every occurrence. */
  readonly title: string
}

/** What the CLI itself reports; errors of the library keep their own codes. */
export const CLI_ERRORS: Readonly<Record<CliErrorCode, CliErrorEntry>> = {
  REPRISE_E_USAGE: { exit: EXIT.usage, title: 'The command line is wrong' },
  REPRISE_E_CONFIG: { exit: EXIT.usage, title: 'The configuration can not be used' },
  REPRISE_E_DATABASE: { exit: EXIT.usage, title: 'No database is configured' },
  REPRISE_E_DRIVER: { exit: EXIT.usage, title: 'No database driver is installed' },
  REPRISE_E_FAILED: { exit: EXIT.failed, title: 'The operation failed' },
  REPRISE_E_SCHEMA: { exit: EXIT.failed, title: 'The schema is missing or too old' },
  REPRISE_E_PORT: { exit: EXIT.failed, title: 'The port is in use' },
  REPRISE_E_NOT_FOUND: { exit: EXIT.notFound, title: 'There is no such thing' },
  REPRISE_E_UNREACHABLE: { exit: EXIT.unreachable, title: 'The store can not be reached' },
  REPRISE_E_CONFIRM: { exit: EXIT.refused, title: 'A confirmation is missing' },
  REPRISE_E_REFUSED: { exit: EXIT.refused, title: 'The state of things forbids it' },
  REPRISE_E_INTERRUPTED: { exit: EXIT.interrupted, title: 'Interrupted' },
  REPRISE_E_BUG: { exit: EXIT.failed, title: 'This is a bug of reprise' },
}

/** What else is known of a failure. */
export interface CliErrorOptions extends ErrorOptions {
  /** What to do, best a command. */
  readonly hint?: string
  /** Why it is probably so. */
  readonly reason?: string
}

/** A failure that is the user's to mend, or the world's. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly code: CliErrorCode
  readonly hint: string | undefined
  readonly reason: string | undefined

  /** @param message - what failed, as a sentence */
  constructor(code: CliErrorCode, message: string, options: CliErrorOptions = {}) {
    super(message, options)
    this.code = code
    this.hint = options.hint
    this.reason = options.reason
  }

  get exit(): ExitCode {
    return CLI_ERRORS[this.code].exit
  }

  /** Its section in the documentation, as a path below `docs`. */
  get page(): string {
    return `cli.md#${this.code.toLowerCase()}`
  }
}

/** A failure of whoever typed the command. */
export function usage(message: string, hint?: string): CliError {
  return new CliError('REPRISE_E_USAGE', message, hint === undefined ? {} : { hint })
}
