/**
 * The codes of errors, and what is known of each.
 *
 * @module
 */

/** A code that clients see: a request was refused. */
export type ClientErrorCode =
  | 'idempotency-key-missing'
  | 'idempotency-key-invalid'
  | 'idempotency-key-expired'
  | 'idempotency-key-reused'
  | 'idempotency-in-progress'
  | 'idempotency-outcome-unknown'
  | 'idempotency-result-gone'
  | 'idempotency-body-invalid'
  | 'idempotency-body-too-large'
  | 'idempotency-store-unavailable'
  | 'idempotency-shutting-down'
  | 'idempotency-conflict'
  | 'idempotency-commit-unknown'
  | 'idempotency-replay-forbidden'
  | 'idempotency-too-early'
  | 'idempotency-retry-later'
  | 'idempotency-quota-exceeded'
  | 'idempotency-input-invalid'

/** A code of the table. */
export type ErrorCode =
  | ClientErrorCode
  | 'reprise-options-invalid'
  | 'reprise-lease-lost'
  | 'reprise-schema-missing'
  | 'reprise-schema-newer'
  | 'reprise-store-unsafe'
  | 'reprise-seal-broken'
  | 'reprise-transactions-unsupported'
  | 'reprise-duplicate-request'
  | 'reprise-jobs-unsupported'
  | 'reprise-admin-unsupported'
  | 'reprise-query-invalid'
  | 'reprise-query-timeout'
  | 'reprise-version-unsupported'

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
