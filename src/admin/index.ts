/**
 * What an operator may see and do: the API that dashboard and CLI are two faces of.
 *
 * @module
 */

export {
  type Admin,
  type AuditEntry,
  type Batch,
  COUNT_MAX,
  type Concern,
  type CountPoint,
  type DuplicateNote,
  type JobSummary,
  type LetterSettlement,
  type Order,
  type OrderResult,
  type Overview,
  type Page,
  type PageQuery,
  type Payload,
  type Possibility,
  type Recorded,
  type RequestAction,
  type RequestDetail,
  type RequestFilter,
  type RequestState,
  type RequestSummary,
  type StateCounts,
  type WorkerSummary,
} from './admin.ts'
export { createAdmin } from './create-admin.ts'
export type { AdminOptions, KnownOperation } from './options.ts'
export type { ExactNumber, RedactOptions } from './redact.ts'
