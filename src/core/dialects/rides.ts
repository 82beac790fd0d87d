/**
 * A ride service with short error bodies and long keys.
 *
 * @module
 */

import type { Dialect } from './dialect.ts'
import { ietf } from './ietf.ts'
import { messageOf } from './wording.ts'

/** The dialect of the rides API: keys of 20 to 100 characters, and never without one. */
export const rides: Dialect = {
  ...ietf,
  name: 'rides',
  key: { mode: 'lenient', lengthMin: 20, lengthMax: 100 },
  keyRequired: true,
  identity: ['caller', 'key'],
  errors: {
    contentType: 'application/json',
    statuses: { 'idempotency-key-reused': 409 },
    body: (problem) => ({ error: messageOf(problem) }),
  },
}
