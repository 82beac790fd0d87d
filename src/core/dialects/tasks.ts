/**
 * A task list whose replays are 200 and whose errors name the key.
 *
 * @module
 */

import type { Occurrence, Problem } from '../problem.ts'
import type { Dialect } from './dialect.ts'
import { ietf } from './ietf.ts'
import { codeNameOf, docUrlOf, messageOf } from './wording.ts'

/** The dialect of the tasks API: a key counts for one method on one path. */
export const tasks: Dialect = {
  ...ietf,
  name: 'tasks',
  methods: ['POST', 'PATCH', 'DELETE'],
  identity: ['caller', 'key', 'method', 'path'],
  replayStatus: 200,
  errors: {
    contentType: 'application/json',
    statuses: { 'idempotency-key-reused': 409 },
    body: (problem, occurrence) => ({
      error: {
        type: problem.status >= 500 ? 'api_error' : 'invalid_request_error',
        message: message(problem, occurrence),
        code: codeNameOf(occurrence, {
          'idempotency-key-reused': 'idempotency_conflict',
          'idempotency-conflict': 'transaction_conflict',
        }),
        param: problem.code.startsWith('idempotency-key') ? 'idempotency_key' : null,
        ...docUrlOf(problem, occurrence),
      },
    }),
  },
}

/** Names the key on a mismatch: a client with many requests in flight learns which one it was. */
function message(problem: Problem, { code, key }: Occurrence): string {
  if (code !== 'idempotency-key-reused' || key === undefined) return messageOf(problem)
  return `Idempotency key '${printable(key)}' is already used with other parameters. ${problem.detail}`
}

/** What comes from outside is cut to the length of a key and stripped of all but plain characters. */
function printable(key: string): string {
  return key.slice(0, 255).replace(/[^ -~]/g, '?')
}
