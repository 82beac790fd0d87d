/**
 * What the errors of the client libraries mean.
 *
 * @module
 */

import { RepriseError } from '../../core/errors.ts'
import type { TransactionFault } from '../../engine/store.ts'

/** Serialization failure and deadlock. */
const RETRY: ReadonlySet<string> = new Set(['40001', '40P01'])

/**
 * What says that the connection is gone: states of PostgreSQL (the class of connection exceptions,
 * the server going down or not up yet, a session ended for idling), codes of sockets, and of
 * postgres.js.
 */
const DISCONNECTED =
  /^(08\w{3}|57P0[1-5]|25P0[34]|ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|CONNECT\w+)$/

/** pg gives these no code. */
const DISCONNECTED_MESSAGE =
  /^(Connection terminated|Client has encountered a connection error|Client was closed|timeout exce|Query read timeout|PGlite is closed)/

const UNIQUE_VIOLATION = '23505'
const CAUSES_MAX = 5

/** How often a statement is sent again after a serialization failure, before it counts as failed. */
const ATTEMPTS_MAX = 20

/** What an error, or what caused it, means for a transaction on the records of `schema`. */
export function faultOf(error: unknown, schema: string): TransactionFault {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
    const code = property(cause, 'code')
    if (RETRY.has(code)) return 'retry'
    if (code === UNIQUE_VIOLATION && isOurs(cause, schema)) return 'lost'
    if (DISCONNECTED.test(code) || DISCONNECTED_MESSAGE.test(cause.message)) return 'disconnected'
    cause = cause.cause
  }
  return 'other'
}

/** Whether the connection that `error` came from is gone. */
export function isDisconnected(error: unknown): boolean {
  return faultOf(error, '') === 'disconnected'
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

function unavailable(verb: string, cause: unknown): RepriseError {
  const code = cause instanceof Error ? property(cause, 'code') : ''
  const detail = `PostgreSQL failed to ${verb}${code === '' ? '' : ` (${code})`}`
  return new RepriseError('idempotency-store-unavailable', detail, { cause })
}

/** pg and PGlite name the parts of an error one way, postgres.js another. */
function isOurs(error: Error, schema: string): boolean {
  const at = property(error, 'schema') || property(error, 'schema_name')
  const constraint = property(error, 'constraint') || property(error, 'constraint_name')
  return at === schema && constraint === 'records_pkey'
}

function property(error: Error, name: string): string {
  const value: unknown = Reflect.get(error, name)
  return typeof value === 'string' ? value : ''
}
