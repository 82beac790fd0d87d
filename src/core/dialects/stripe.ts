/**
 * What clients made for Stripe's API (v1) understand.
 *
 * @module
 */

import type { Problem } from '../problem.ts'
import type { Dialect } from './dialect.ts'
import { ietf } from './ietf.ts'
import { codeNameOf, docUrlOf, messageOf } from './wording.ts'

/** The dialect of Stripe: one key for the whole account, on any path. */
export const stripe: Dialect = {
  ...ietf,
  name: 'stripe',
  methods: ['POST'],
  identity: ['caller', 'key'],
  marks: {
    replayed: 'Idempotent-Replayed',
    originalRequest: 'Original-Request',
    originalRequestOnFirst: true,
    expires: null,
    retry: { header: 'Stripe-Should-Retry', again: 'true', never: 'false' },
  },
  errors: {
    contentType: 'application/json',
    statuses: { 'idempotency-key-reused': 400 },
    body: (problem, occurrence) => ({
      error: {
        type: typeOf(problem),
        code: codeNameOf(occurrence, { 'idempotency-in-progress': 'idempotency_key_in_use' }),
        message: messageOf(problem),
        ...docUrlOf(problem, occurrence),
      },
    }),
  },
}

function typeOf({ code, status }: Problem): string {
  if (status >= 500) return 'api_error'
  switch (code) {
    case 'idempotency-key-reused':
    case 'idempotency-in-progress':
    case 'idempotency-outcome-unknown':
    case 'idempotency-result-gone':
      return 'idempotency_error'
    default:
      return 'invalid_request_error'
  }
}
