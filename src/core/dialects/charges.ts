/**
 * A payment API in which every refusal is an `idempotency_error`.
 *
 * @module
 */

import type { Dialect } from './dialect.ts'
import { ietf } from './ietf.ts'
import { messageOf } from './wording.ts'

/** The dialect of the charges API: no payment without a key. */
export const charges: Dialect = {
  ...ietf,
  name: 'charges',
  keyRequired: true,
  identity: ['caller', 'key'],
  errors: {
    contentType: 'application/json',
    statuses: { 'idempotency-key-reused': 409 },
    body: (problem) => ({ error: { type: 'idempotency_error', message: messageOf(problem) } }),
  },
}
