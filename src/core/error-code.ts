/**
 * The codes of errors, and what is known of each.
 *
 * @module
 */

/** Every code that clients see: a request was refused. */
export const CLIENT_ERROR_CODES = [
  'idempotency-key-missing',
  'idempotency-key-invalid',
  'idempotency-key-expired',
  'idempotency-key-reused',
  'idempotency-in-progress',
  'idempotency-outcome-unknown',
  'idempotency-result-gone',
  'idempotency-body-invalid',
  'idempotency-body-too-large',
  'idempotency-store-unavailable',
  'idempotency-shutting-down',
  'idempotency-conflict',
  'idempotency-commit-unknown',
  'idempotency-replay-forbidden',
  'idempotency-too-early',
  'idempotency-retry-later',
  'idempotency-quota-exceeded',
  'idempotency-input-invalid',
  'idempotency-identity-invalid',
] as const

/** Every code that only the developers of the server see. */
export const SERVER_ERROR_CODES = [
  'reprise-options-invalid',
  'reprise-lease-lost',
  'reprise-schema-missing',
  'reprise-schema-newer',
  'reprise-store-unreachable',
  'reprise-store-unsafe',
  'reprise-seal-broken',
  'reprise-transactions-unsupported',
  'reprise-duplicate-request',
  'reprise-transaction-over',
  'reprise-jobs-unsupported',
  'reprise-admin-unsupported',
  'reprise-query-invalid',
  'reprise-query-timeout',
  'reprise-version-unsupported',
] as const

/** A code that clients see: a request was refused. */
export type ClientErrorCode = (typeof CLIENT_ERROR_CODES)[number]

/** A code of the table. */
export type ErrorCode = ClientErrorCode | (typeof SERVER_ERROR_CODES)[number]

/** Every code of the table, in its order. */
export const ERROR_CODES: readonly ErrorCode[] = [...CLIENT_ERROR_CODES, ...SERVER_ERROR_CODES]

/** One row of the table. */
export interface ErrorEntry<Code extends ErrorCode = ErrorCode> {
  readonly code: Code
  /** HTTP status that the default dialect answers with. */
  readonly status: number
  /** The same for every occurrence. */
  readonly title: string
  /** Whether sending the same request again, with the same key, can succeed. */
  readonly retryable: boolean
  /** What to do next. */
  readonly hint: string
}
