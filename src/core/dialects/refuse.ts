/**
 * Refusals, in the dialect of the route.
 *
 * @module
 */

import type { Decision } from '../decide.ts'
import {
  type ClientErrorCode,
  type ErrorEntry,
  IN_PROGRESS,
  KEY_REUSED,
  OUTCOME_UNKNOWN,
} from '../error-table.ts'
import { type Occurrence, renderProblem } from '../problem.ts'
import type { CapturedResponse } from '../response.ts'
import type { Dialect } from './dialect.ts'
import { refusalMarks } from './marks.ts'

/** A decision against the request; a replay is none, for it has an answer. */
export type RefusalKind = Extract<Decision['kind'], 'mismatch' | 'in_progress' | 'unknown'>

/** The error of a decision against the request. */
export const refusals: Readonly<Record<RefusalKind, ErrorEntry<ClientErrorCode>>> = {
  mismatch: KEY_REUSED,
  in_progress: IN_PROGRESS,
  unknown: OUTCOME_UNKNOWN,
}

/** The answer to a request that is refused. */
export function refuse(dialect: Dialect, occurrence: Occurrence): CapturedResponse {
  const response = renderProblem(occurrence, dialect.errors)
  const marks = refusalMarks(dialect, occurrence)
  return { ...response, headers: [...response.headers, ...marks] }
}
