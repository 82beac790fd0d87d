/**
 * A service that starts workflows for organisations.
 *
 * @module
 */

import type { Dialect } from './dialect.ts'
import { ietf } from './ietf.ts'
import { codeNameOf, messageOf } from './wording.ts'

/** The dialect of the workflows API: the key counts for one endpoint of one organisation. */
export const workflows: Dialect = {
  ...ietf,
  name: 'workflows',
  errors: {
    contentType: 'application/json',
    statuses: {},
    body: (problem, occurrence) => ({
      detail: messageOf(problem),
      code: codeNameOf(occurrence, { 'idempotency-in-progress': 'idempotency_key_in_progress' }),
    }),
  },
}
