/**
 * Whose trouble an error is: the job's, or that of the queue as a whole.
 *
 * @module
 */

import { OPTIONS_INVALID } from '../core/error-table.ts'
import { isRepriseError } from '../core/errors.ts'
import { messageOf } from '../phases/message.ts'
import type { StagedJob, Undelivered } from '../workers/sink.ts'

/** Codes of sockets, of ioredis, of PostgreSQL (connections, and what a queue is made of missing). */
const CODES =
  /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN|CONNECT\w+|UND_ERR_(CONNECT_TIMEOUT|SOCKET)|NR_CLOSED|08\w{3}|57P0[1-5]|25P0[34]|3F000|42P01|42883|42501)$/

const CAUSES_MAX = 5

/** Whether the queue can not be reached, or is not set up: no job is to blame for that. */
export function isSinkTrouble(error: unknown): boolean {
  if (isRepriseError(error) && error.code === OPTIONS_INVALID.code) return true
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX && cause instanceof Error; depth++) {
    const code: unknown = Reflect.get(cause, 'code')
    if (typeof code === 'string' && CODES.test(code)) return true
    // Several addresses of one host, each refused.
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause
  }
  return false
}

/** A job that its own error keeps back. */
export function refused({ id }: StagedJob, error: unknown): Undelivered {
  return { id, error: messageOf(error) }
}

/** Jobs that nobody tried, or that are not to blame. */
export function untried(jobs: readonly StagedJob[], error: unknown): readonly Undelivered[] {
  return jobs.map(({ id }) => ({ id, error: messageOf(error), isSinkDown: true }))
}
