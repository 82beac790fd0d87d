/**
 * The default: draft-ietf-httpapi-idempotency-key-header-07, with problem documents.
 *
 * @module
 */

import { problemFormat } from '../problem.ts'
import type { Dialect } from './dialect.ts'

/** The dialect of the IETF draft. */
export const ietf: Dialect = {
  name: 'ietf',
  header: 'Idempotency-Key',
  methods: ['POST', 'PATCH'],
  key: { mode: 'lenient', lengthMin: 1, lengthMax: 255 },
  keyRequired: false,
  identity: ['caller', 'key', 'method', 'route'],
  replayStatus: 'first',
  marks: {
    replayed: 'Idempotent-Replayed',
    originalRequest: 'Original-Request-Id',
    originalRequestOnFirst: false,
    expires: 'Idempotency-Expires',
    retry: { header: 'Idempotent-Retry', again: 'same-key', never: null },
  },
  errors: problemFormat,
}
