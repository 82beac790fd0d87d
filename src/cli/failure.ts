/**
 * What went wrong, in the words of whoever has to mend it.
 *
 * @module
 */

import { causeCodeOf } from '../core/causes.ts'
import { isRepriseError, type RepriseError } from '../core/errors.ts'
import { CLI_ERRORS, CliError, type CliErrorCode, EXIT, type ExitCode } from './errors.ts'

/** A failure, ready to be shown. */
export interface Failure {
  readonly exit: ExitCode
  readonly code: string
  readonly message: string
  /** What the driver or the system said itself. */
  readonly driver: string | undefined
  readonly reason: string | undefined
  readonly hint: string | undefined
  /** Its section in the documentation, as a path below `docs`. */
  readonly page: string
  readonly isBug: boolean
}

/** What is known of errors that mean that the database can not be used. */
const CONNECTION: readonly (readonly [code: RegExp, reason: string, hint: string])[] = [
  [
    /^ECONNREFUSED$/,
    'Nothing listens at that host and port.',
    'Start PostgreSQL, or correct DATABASE_URL.',
  ],
  [
    /^(ENOTFOUND|EAI_AGAIN)$/,
    'The name of the host is not known.',
    'Correct the host in DATABASE_URL.',
  ],
  [
    /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT)$/,
    'A firewall, or the wrong host.',
    'Check the network, or give more time with --connect-timeout 30s.',
  ],
  [
    /^28(P01|000)$/,
    'User or password are wrong, or pg_hba.conf does not let this host in.',
    'Correct user and password in DATABASE_URL.',
  ],
  [
    /^3D000$/,
    'The database does not exist.',
    'Create it (createdb), or correct the name in DATABASE_URL.',
  ],
  [
    /^53300$/,
    'The server has no connection left.',
    'Close idle ones, or connect through a pooler.',
  ],
  [
    /^(57P0[1-5]|08\w{3}|ECONNRESET|EPIPE|CONNECTION_\w+)$/,
    'The server is starting, stopping, or dropped the connection.',
    'Try again in a moment.',
  ],
]

const TIMEOUT = /^(timeout exce|Connection terminated)/

/** Puts any error into words. */
export function describeFailure(error: unknown): Failure {
  if (error instanceof CliError) return ofCli(error)
  const cause = isRepriseError(error) ? error.cause : error
  const unreachable = connectionFailure(cause)
  if (unreachable !== undefined) return unreachable
  if (isRepriseError(error)) return ofLibrary(error)
  if (isDatabaseError(cause)) return ofDatabase(cause)
  return {
    ...{ exit: EXIT.failed, code: 'REPRISE_E_BUG', driver: undefined, isBug: true },
    message: `${CLI_ERRORS.REPRISE_E_BUG.title}: ${messageOf(error)}`,
    reason: undefined,
    hint: 'Report it to those who gave you this package, with what --verbose prints.',
    page: pageOf('REPRISE_E_BUG'),
  }
}

function ofCli(error: CliError): Failure {
  const { exit, code, message, reason, hint, page, cause } = error
  const driver = cause instanceof Error ? cause.message : undefined
  const isSaid = driver !== undefined && message.includes(driver)
  return {
    exit,
    code,
    message,
    reason,
    hint,
    page,
    isBug: false,
    driver: isSaid ? undefined : driver,
  }
}

function ofLibrary(error: RepriseError): Failure {
  const { code, detail, hint, cause } = error
  const isUsage = code === 'reprise-options-invalid' || code === 'reprise-query-invalid'
  const isSchema = code === 'reprise-schema-missing'
  return {
    ...{ code, page: `errors.md#${code}`, isBug: false, reason: undefined },
    exit: isUsage ? EXIT.usage : EXIT.failed,
    message: `${detail ?? error.message}.`,
    driver: cause instanceof Error ? cause.message : undefined,
    hint: isSchema ? 'npx reprise migrate up' : hint || undefined,
  }
}

function connectionFailure(error: unknown): Failure | undefined {
  const found = codesOf(error)
    .map((code) => CONNECTION.find(([pattern]) => pattern.test(code)))
    .find((entry) => entry !== undefined)
  const isTimeout = error instanceof Error && TIMEOUT.test(error.message)
  const [, reason, hint] = found ?? (isTimeout ? (CONNECTION[2] ?? []) : [])
  if (reason === undefined) return undefined
  const code = causeCodeOf(error)
  return {
    ...{ exit: EXIT.unreachable, code: 'REPRISE_E_UNREACHABLE', isBug: false, reason, hint },
    message: `The database can not be reached${code === undefined ? '' : ` (${code})`}.`,
    driver: messageOf(error),
    page: pageOf('REPRISE_E_UNREACHABLE'),
  }
}

function ofDatabase(error: Error): Failure {
  const [code = ''] = codesOf(error)
  const isMissing = code === '42P01' || code === '3F000' || code === '42883'
  const isForbidden = code === '42501'
  const name: CliErrorCode = isMissing ? 'REPRISE_E_SCHEMA' : 'REPRISE_E_FAILED'
  return {
    ...{ exit: CLI_ERRORS[name].exit, code: name, isBug: false, page: pageOf(name) },
    message: isMissing ? 'The schema is missing or too old.' : `PostgreSQL refused (${code}).`,
    driver: error.message,
    reason: isForbidden ? 'The role lacks a privilege.' : undefined,
    hint: isMissing ? 'npx reprise migrate up' : 'npx reprise doctor says what is wrong.',
  }
}

/** Errors of the server have a state of five characters. */
function isDatabaseError(error: unknown): error is Error {
  return error instanceof Error && codesOf(error).some((code) => /^[0-9A-Z]{5}$/.test(code))
}

/** The codes of an error and of those that it holds: a host with two addresses fails twice. */
function codesOf(error: unknown): readonly string[] {
  if (typeof error !== 'object' || error === null) return []
  const code: unknown = Reflect.get(error, 'code')
  const inner: unknown = Reflect.get(error, 'errors')
  const own = typeof code === 'string' ? [code] : []
  return Array.isArray(inner) ? [...own, ...inner.flatMap(codesOf)] : own
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') {
    return error.errors.map(messageOf).join('; ')
  }
  return error instanceof Error ? error.message : String(error)
}

function pageOf(code: CliErrorCode): string {
  return new CliError(code, '').page
}
