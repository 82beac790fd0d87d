/**
 * A platform whose agents act on a timer and send their key in a header of its own.
 *
 * @module
 */

import type { Dialect } from './dialect.ts'
import { ietf } from './ietf.ts'
import { codeNameOf, messageOf } from './wording.ts'

/** The dialect of the agents API. */
export const agents: Dialect = {
  ...ietf,
  name: 'agents',
  header: 'X-Idempotency-Key',
  methods: ['POST', 'PUT', 'PATCH'],
  identity: ['caller', 'key'],
  errors: {
    contentType: 'application/json',
    statuses: {},
    body: (problem, occurrence) => ({
      // Agents look for this very text.
      detail:
        problem.code === 'idempotency-in-progress'
          ? 'Request is being processed'
          : messageOf(problem),
      code: codeNameOf(occurrence),
    }),
  },
}
