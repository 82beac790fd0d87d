/**
 * Refusals, in the dialect of the route.
 *
 * @module
 */

import type { Decision } from '../decide.ts'
import { type ClientErrorCode, ERRORS } from '../errors.ts'
import { type Occurrence, renderProblem } from '../problem.ts'
import type { CapturedResponse } from '../response.ts'
import type { Dialect } from './dialect.ts'
import { refusalMarks } from './marks.ts'

/** A decision against the request; a replay is none, for it has an answer. */
export type RefusalKind = Extract<Decision['kind'], 'mismatch' | 'in_progress' | 'unknown'>

/** The code of a decision against the request. */
export const refusalCodes: Readonly<Record<RefusalKind, ClientErrorCode>> = {
  mismatch: 'idempotency-key-reused',
  in_progress: 'idempotency-in-progress',
  unknown: 'idempotency-outcome-unknown',
}

/** The answer to a request that is refused. */
export function refuse(dialect: Dialect, occurrence: Occurrence): CapturedResponse {
  const response = renderProblem(occurrence, dialect.errors)
  const { retryable } = ERRORS[occurrence.code]
  const marks = refusalMarks(dialect, { key: occurrence.key, retryable })
  return { ...response, headers: [...response.headers, ...marks] }
}
