/**
 * What the errors of the client libraries mean, and of the ORMs that wrap them.
 *
 * @module
 */

import { causesOf } from '../../core/causes.ts'
import { IDENTITY_INVALID, STORE_UNAVAILABLE } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import type { TransactionFault } from '../../engine/transactions.ts'

/** Serialization failure and deadlock, and what Prisma makes of them. */
const RETRY: ReadonlySet<string> = new Set(['40001', '40P01', 'P2034'])

/**
 * What says that the connection is gone: states of PostgreSQL (the class of connection exceptions,
 * the server going down or not up yet, a session ended for idling), codes of sockets, of
 * postgres.js, and of Prisma.
 */
const DISCONNECTED =
  /^(08\w{3}|57P0[1-5]|25P0[34]|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|CONNECT\w+|P10(01|02|08|17))$/

/**
 * pg and PGlite give these no code. Knex puts the statement and a dash before the message of an error,
 * so it may stand there too.
 */
const DISCONNECTED_MESSAGE =
  /(?:^| - )(Connection terminated|Client has encountered a connection error|Client was closed|timeout exce|Query read timeout|PGlite is closed)[^\n]*$/

/** The states that PostgreSQL gives its errors. Codes of Prisma and of sockets can have the same length. */
const SQLSTATE = /^(?!P[1-9]|E[A-Z]{4})[\dA-Z]{5}$/

/** A write in a read-only transaction, and what a claim asks for that must not be granted in one. */
const READ_ONLY: ReadonlySet<string> = new Set(['25006', '25001'])

/**
 * What says that the server no longer has, or no longer takes, a statement that the client library has
 * prepared on this connection: a name that is gone or in use, and a cached plan with another result. The
 * server has executed nothing of the statement.
 */
const STALE: ReadonlySet<string> = new Set(['26000', '42P05', '0A000'])
/** The session may have been left with a role that has no rights here. */
const INSUFFICIENT_PRIVILEGE = '42501'

const UNIQUE_VIOLATION = '23505'
/** Raised by our own functions when the fence has moved on. */
const LEASE_LOST = 'RP001'
/** Raised by our own functions when the app's code has ended the transaction. */
const ENDED = 'RP002'
/** Raised by our own function when a transaction was open for longer than the retention. */
const OUTLASTED = 'RP004'

/** Raised by our own function when a claim is refused that goes with the first statement. */
const REFUSED = 'RP101'

/** What says that the encoding of the database lacks a character. */
const UNENCODABLE: ReadonlySet<string> = new Set(['22021', '22P05'])
/** The verbs that bring the names of a request to the database, before anything is done. */
const FIRST_VERBS: ReadonlySet<string> = new Set(['claim', 'begin a transaction'])

/** How often a statement is sent again after a serialization failure, before it counts as failed. */
const ATTEMPTS_MAX = 20

/** A statement of ours failed, and none of the app's. */
export class StatementFailed extends Error {
  constructor(cause: unknown) {
    super('A statement of the store failed.', { cause })
  }
}

/**
 * Nobody knows whether a transaction is committed: its connection broke at the commit, and PostgreSQL could
 * not be asked, or did not say.
 */
export class ConnectionLost extends Error {
  constructor(cause: unknown) {
    super('The connection was lost at the commit.', { cause })
  }
}

/** What an error, or what caused it, means for a transaction on the records of `schema`. */
export function faultOf(error: unknown, schema: string): TransactionFault {
  const causes = causesOf(error)
  const isOwn = causes.some((cause) => cause instanceof StatementFailed)
  for (const cause of causes) {
    const code = codeOf(cause)
    if (cause instanceof ConnectionLost) return 'disconnected'
    if (RETRY.has(code)) return 'retry'
    if (code === LEASE_LOST) return 'lost'
    // The key of the records is all that a statement of ours can find taken.
    if (code === UNIQUE_VIOLATION && (isOwn || isOurs(cause, schema))) return 'lost'
    if (DISCONNECTED.test(code)) return 'disconnected'
    if (code === '' && DISCONNECTED_MESSAGE.test(property(cause, 'message'))) return 'disconnected'
  }
  return 'other'
}

/** Whether the app's code has ended the transaction in which a statement of ours was to be the last. */
export function isEnded(error: unknown): boolean {
  return causesOf(error).some((cause) => codeOf(cause) === ENDED)
}

/** Whether a transaction was open for longer than its answer would be kept. */
export function isOutlasted(error: unknown): boolean {
  return causesOf(error).some((cause) => codeOf(cause) === OUTLASTED)
}

/** Whether a claim was refused, and with it the statement behind it. */
export function isRefused(error: unknown): boolean {
  return causesOf(error).some((cause) => codeOf(cause) === REFUSED)
}

/**
 * Whether the server itself has said that a statement failed, and goes on. An error without a state of
 * PostgreSQL, or with one of a connection that ends, says nothing about what the server has done.
 */
export function isAnswered(error: unknown): boolean {
  const codes = causesOf(error).map(codeOf)
  return (
    codes.some((code) => SQLSTATE.test(code) || RETRY.has(code)) &&
    !codes.some((code) => DISCONNECTED.test(code))
  )
}

/** Whether the connection that `error` came from is gone. */
export function isDisconnected(error: unknown): boolean {
  return faultOf(error, '') === 'disconnected'
}

/** Whether a prepared statement failed because the server and the client library disagree about it. */
export function isStale(error: unknown): boolean {
  return causesOf(error).some((cause) => STALE.has(codeOf(cause)))
}

/** Whether `error` may come from the state of the session, so that another connection may do better. */
export function isOfSession(error: unknown): boolean {
  return isStale(error) || causesOf(error).some((cause) => codeOf(cause) === INSUFFICIENT_PRIVILEGE)
}

/**
 * Runs a verb: again after a serialization failure, which a default isolation level above read
 * committed brings, and with its failure as a {@link RepriseError}.
 */
export async function attempt<T>(verb: string, run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (attempt < ATTEMPTS_MAX && faultOf(error, '') === 'retry') continue
      throw error instanceof RepriseError ? error : unavailable(verb, error)
    }
  }
}

/** Whether the encoding of the database lacks a character of a text, or the text has a NUL character. */
export function isUnencodable(error: unknown): boolean {
  return causesOf(error).some((cause) => UNENCODABLE.has(codeOf(cause)))
}

/** A record cannot be stored, because the encoding of the database lacks a character of its names. */
export function unencodable(cause: unknown): RepriseError {
  const detail = 'The encoding of the database lacks a character of the caller or the operation'
  return new RepriseError(IDENTITY_INVALID, detail, { cause })
}

/** A failure of a verb as who asked is told. */
export function unavailable(verb: string, cause: unknown): RepriseError {
  if (FIRST_VERBS.has(verb) && isUnencodable(cause)) return unencodable(cause)
  const code = cause instanceof Error ? property(cause, 'code') : ''
  if (READ_ONLY.has(code)) return readOnly(verb, cause)
  const detail = `PostgreSQL failed to ${verb}${code === '' ? '' : ` (${code})`}`
  return new RepriseError(STORE_UNAVAILABLE, detail, { cause })
}

/** A verb that writes, or has the app write, failed on a standby or on a database that takes no writes. */
export function readOnly(verb: string, cause?: unknown): RepriseError {
  const detail = `PostgreSQL failed to ${verb}, because the database is read-only (25006)`
  return new RepriseError(STORE_UNAVAILABLE, detail, { cause })
}

/** pg and PGlite name the parts of an error one way, postgres.js another, and Prisma leaves them out. */
function isOurs(error: object, schema: string): boolean {
  const at = property(error, 'schema') || property(error, 'schema_name')
  const constraint = property(error, 'constraint') || property(error, 'constraint_name')
  return at === schema && constraint === 'records_pkey'
}

function codeOf(error: object): string {
  return property(error, 'code') || property(error, 'originalCode')
}

function property(error: object, name: string): string {
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : ''
}
