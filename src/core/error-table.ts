/**
 * The one table of errors. Each code has a page of the same name in `docs/errors.md`; a test holds
 * table and page together in both directions.
 *
 * Codes that begin with `idempotency-` are seen by clients, in problem bodies; codes that begin with
 * `reprise-` only by the developers of the server. Each row stands for itself, so that a bundle has
 * the rows of what it uses and no others.
 *
 * @module
 */

import type { ErrorCode, ErrorEntry } from './error-code.ts'

export type { ClientErrorCode, ErrorCode, ErrorEntry } from './error-code.ts'

/** `idempotency-key-missing` */
export const KEY_MISSING: ErrorEntry<'idempotency-key-missing'> = {
  code: 'idempotency-key-missing',
  status: 400,
  title: 'Idempotency key is missing',
  retryable: false,
  hint: 'Send a key of your own making, fresh for each operation and the same on every retry.',
}
/** `idempotency-key-invalid` */
export const KEY_INVALID: ErrorEntry<'idempotency-key-invalid'> = {
  code: 'idempotency-key-invalid',
  status: 400,
  title: 'Idempotency key is invalid',
  retryable: false,
  hint: 'Send one key, such as a UUID.',
}
/** `idempotency-key-expired` */
export const KEY_EXPIRED: ErrorEntry<'idempotency-key-expired'> = {
  code: 'idempotency-key-expired',
  status: 400,
  title: 'Idempotency key is too old',
  retryable: false,
  hint: 'See what became of the first request before you send it again with a new key.',
}
/** `idempotency-key-reused` */
export const KEY_REUSED: ErrorEntry<'idempotency-key-reused'> = {
  code: 'idempotency-key-reused',
  status: 422,
  title: 'Idempotency key is already used for another request',
  retryable: false,
  hint: 'Send a new request with a new key, or the first request unchanged.',
}
/** `idempotency-in-progress` */
export const IN_PROGRESS: ErrorEntry<'idempotency-in-progress'> = {
  code: 'idempotency-in-progress',
  status: 409,
  title: 'A request with this idempotency key is in progress',
  retryable: true,
  hint: 'Wait as long as Retry-After says, then send the same request with the same key.',
}
/** `idempotency-outcome-unknown` */
export const OUTCOME_UNKNOWN: ErrorEntry<'idempotency-outcome-unknown'> = {
  code: 'idempotency-outcome-unknown',
  status: 409,
  title: 'The outcome of the first request is unknown',
  retryable: false,
  hint: 'It may have taken effect and is not repeated; a person has to settle it.',
}
/** `idempotency-result-gone` */
export const RESULT_GONE: ErrorEntry<'idempotency-result-gone'> = {
  code: 'idempotency-result-gone',
  status: 409,
  title: 'The first answer can not be given again',
  retryable: false,
  hint: 'The request took effect once; read the resource instead.',
}
/** `idempotency-body-invalid` */
export const BODY_INVALID: ErrorEntry<'idempotency-body-invalid'> = {
  code: 'idempotency-body-invalid',
  status: 400,
  title: 'Request body is ambiguous',
  retryable: false,
  hint: 'Send JSON that names each member once and is not nested too deeply.',
}
/** `idempotency-body-too-large` */
export const BODY_TOO_LARGE: ErrorEntry<'idempotency-body-too-large'> = {
  code: 'idempotency-body-too-large',
  status: 413,
  title: 'Request body is too large',
  retryable: false,
  hint: 'Send a smaller body.',
}
/** `idempotency-store-unavailable` */
export const STORE_UNAVAILABLE: ErrorEntry<'idempotency-store-unavailable'> = {
  code: 'idempotency-store-unavailable',
  status: 503,
  title: 'Idempotency store is unavailable',
  retryable: true,
  hint: 'Nothing was started. Wait as long as Retry-After says, then send the same request with the same key.',
}
/** `idempotency-shutting-down` */
export const SHUTTING_DOWN: ErrorEntry<'idempotency-shutting-down'> = {
  code: 'idempotency-shutting-down',
  status: 503,
  title: 'Server is shutting down',
  retryable: true,
  hint: 'Nothing was started. Send the same request with the same key again.',
}
/** `idempotency-conflict` */
export const CONFLICT: ErrorEntry<'idempotency-conflict'> = {
  code: 'idempotency-conflict',
  status: 503,
  title: 'Transaction lost to others too often',
  retryable: true,
  hint: 'Nothing took effect. Send the same request with the same key again.',
}
/** `idempotency-commit-unknown` */
export const COMMIT_UNKNOWN: ErrorEntry<'idempotency-commit-unknown'> = {
  code: 'idempotency-commit-unknown',
  status: 503,
  title: 'Connection broke while the answer was being stored',
  retryable: true,
  hint: 'It took effect once or not at all. Send the same request with the same key again.',
}
/** `idempotency-replay-forbidden` */
export const REPLAY_FORBIDDEN: ErrorEntry<'idempotency-replay-forbidden'> = {
  code: 'idempotency-replay-forbidden',
  status: 403,
  title: 'The first answer may not be given to this caller',
  retryable: false,
  hint: 'The request took effect once; ask for permission to see its answer.',
}
/** `idempotency-too-early` */
export const TOO_EARLY: ErrorEntry<'idempotency-too-early'> = {
  code: 'idempotency-too-early',
  status: 425,
  title: 'Request came in early data without an idempotency key',
  retryable: true,
  hint: 'Send it again after the handshake, or with a key.',
}
/** `idempotency-retry-later` */
export const RETRY_LATER: ErrorEntry<'idempotency-retry-later'> = {
  code: 'idempotency-retry-later',
  status: 503,
  title: 'The operation could not be finished yet',
  retryable: true,
  hint: 'What was done so far is kept. Wait as long as Retry-After says, then send the same request with the same key.',
}
/** `idempotency-quota-exceeded` */
export const QUOTA_EXCEEDED: ErrorEntry<'idempotency-quota-exceeded'> = {
  code: 'idempotency-quota-exceeded',
  status: 429,
  title: 'Too many fresh idempotency keys',
  retryable: true,
  hint: 'Nothing was started. Wait as long as Retry-After says, then send the same request with the same key.',
}
/** `idempotency-input-invalid` */
export const INPUT_INVALID: ErrorEntry<'idempotency-input-invalid'> = {
  code: 'idempotency-input-invalid',
  status: 422,
  title: 'The request can not be processed as it is',
  retryable: false,
  hint: 'Nothing was started and the key is free. Correct the request and send it again.',
}
/** `idempotency-identity-invalid` */
export const IDENTITY_INVALID: ErrorEntry<'idempotency-identity-invalid'> = {
  code: 'idempotency-identity-invalid',
  status: 400,
  title: 'The caller or the operation has a character that cannot be stored',
  retryable: false,
  hint: 'Nothing was stored, and no retry will change that. Ask as a caller whose name can be stored.',
}
/** `reprise-options-invalid` */
export const OPTIONS_INVALID: ErrorEntry<'reprise-options-invalid'> = {
  code: 'reprise-options-invalid',
  status: 500,
  title: 'Options are invalid',
  retryable: false,
  hint: '',
}
/** `reprise-lease-lost` */
export const LEASE_LOST: ErrorEntry<'reprise-lease-lost'> = {
  code: 'reprise-lease-lost',
  status: 500,
  title: 'Lease was lost to another run',
  retryable: true,
  hint: 'Stop working: this run can no longer store its answer.',
}
/** `reprise-schema-missing` */
export const SCHEMA_MISSING: ErrorEntry<'reprise-schema-missing'> = {
  code: 'reprise-schema-missing',
  status: 500,
  title: 'Database schema is missing or too old',
  retryable: false,
  hint: 'Run the migrations when you deploy (npx reprise migrate up, or migratePostgres), or leave the option migrate on.',
}
/** `reprise-schema-newer` */
export const SCHEMA_NEWER: ErrorEntry<'reprise-schema-newer'> = {
  code: 'reprise-schema-newer',
  status: 500,
  title: 'Database schema is too new',
  retryable: false,
  hint: 'Deploy the version of reprise that made it, or a later one.',
}
/** `reprise-store-unreachable` */
export const STORE_UNREACHABLE: ErrorEntry<'reprise-store-unreachable'> = {
  code: 'reprise-store-unreachable',
  status: 503,
  title: 'Store cannot be reached',
  retryable: true,
  hint: 'Mend the cause, or wait until the server is there, and ask again.',
}
/** `reprise-store-unsafe` */
export const STORE_UNSAFE: ErrorEntry<'reprise-store-unsafe'> = {
  code: 'reprise-store-unsafe',
  status: 500,
  title: 'Store can forget or lose records',
  retryable: false,
  hint: 'Change the setting that the message names, or allow it by option.',
}
/** `reprise-seal-broken` */
export const SEAL_BROKEN: ErrorEntry<'reprise-seal-broken'> = {
  code: 'reprise-seal-broken',
  status: 500,
  title: 'Stored data can not be opened',
  retryable: false,
  hint: 'Put the key that the message names back; keep old keys for as long as records live.',
}
/** `reprise-transactions-unsupported` */
export const TRANSACTIONS_UNSUPPORTED: ErrorEntry<'reprise-transactions-unsupported'> = {
  code: 'reprise-transactions-unsupported',
  status: 500,
  title: 'Store has no transactions',
  retryable: false,
  hint: 'Use the PostgreSQL or SQLite store.',
}
/** `reprise-duplicate-request` */
export const DUPLICATE_REQUEST: ErrorEntry<'reprise-duplicate-request'> = {
  code: 'reprise-duplicate-request',
  status: 409,
  title: 'The request was refused with its first statement',
  retryable: false,
  hint: 'Nothing was done, and nothing the handler does now counts: let this error pass.',
}
/** `reprise-transaction-over` */
export const TRANSACTION_OVER: ErrorEntry<'reprise-transaction-over'> = {
  code: 'reprise-transaction-over',
  status: 500,
  title: 'The transaction is over',
  retryable: false,
  hint: 'Await every statement before the handler answers or throws.',
}
/** `reprise-jobs-unsupported` */
export const JOBS_UNSUPPORTED: ErrorEntry<'reprise-jobs-unsupported'> = {
  code: 'reprise-jobs-unsupported',
  status: 500,
  title: 'Store keeps no staged jobs',
  retryable: false,
  hint: 'Use the PostgreSQL store to stage jobs, or enqueue after the commit.',
}
/** `reprise-admin-unsupported` */
export const ADMIN_UNSUPPORTED: ErrorEntry<'reprise-admin-unsupported'> = {
  code: 'reprise-admin-unsupported',
  status: 500,
  title: 'Store has no view for operators',
  retryable: false,
  hint: 'Use the PostgreSQL store, or the memory store for tests.',
}
/** `reprise-query-invalid` */
export const QUERY_INVALID: ErrorEntry<'reprise-query-invalid'> = {
  code: 'reprise-query-invalid',
  status: 400,
  title: 'What the operator asked for is not valid',
  retryable: false,
  hint: 'Change what the message names.',
}
/** `reprise-query-timeout` */
export const QUERY_TIMEOUT: ErrorEntry<'reprise-query-timeout'> = {
  code: 'reprise-query-timeout',
  status: 503,
  title: 'The database took too long to answer the operator',
  retryable: true,
  hint: 'Narrow the filter, or ask again when the database is less busy.',
}
/** `reprise-version-unsupported` */
export const VERSION_UNSUPPORTED: ErrorEntry<'reprise-version-unsupported'> = {
  code: 'reprise-version-unsupported',
  status: 500,
  title: 'A package of the app has a version that can not work here',
  retryable: false,
  hint: 'Install a version that the message names, or give Reprise another client.',
}

/** Every error there is. */
export const ERRORS: { readonly [Code in ErrorCode]: ErrorEntry<Code> } = {
  'idempotency-key-missing': KEY_MISSING,
  'idempotency-key-invalid': KEY_INVALID,
  'idempotency-key-expired': KEY_EXPIRED,
  'idempotency-key-reused': KEY_REUSED,
  'idempotency-in-progress': IN_PROGRESS,
  'idempotency-outcome-unknown': OUTCOME_UNKNOWN,
  'idempotency-result-gone': RESULT_GONE,
  'idempotency-body-invalid': BODY_INVALID,
  'idempotency-body-too-large': BODY_TOO_LARGE,
  'idempotency-store-unavailable': STORE_UNAVAILABLE,
  'idempotency-shutting-down': SHUTTING_DOWN,
  'idempotency-conflict': CONFLICT,
  'idempotency-commit-unknown': COMMIT_UNKNOWN,
  'idempotency-replay-forbidden': REPLAY_FORBIDDEN,
  'idempotency-too-early': TOO_EARLY,
  'idempotency-retry-later': RETRY_LATER,
  'idempotency-quota-exceeded': QUOTA_EXCEEDED,
  'idempotency-input-invalid': INPUT_INVALID,
  'idempotency-identity-invalid': IDENTITY_INVALID,
  'reprise-options-invalid': OPTIONS_INVALID,
  'reprise-lease-lost': LEASE_LOST,
  'reprise-schema-missing': SCHEMA_MISSING,
  'reprise-schema-newer': SCHEMA_NEWER,
  'reprise-store-unreachable': STORE_UNREACHABLE,
  'reprise-store-unsafe': STORE_UNSAFE,
  'reprise-seal-broken': SEAL_BROKEN,
  'reprise-transactions-unsupported': TRANSACTIONS_UNSUPPORTED,
  'reprise-duplicate-request': DUPLICATE_REQUEST,
  'reprise-transaction-over': TRANSACTION_OVER,
  'reprise-jobs-unsupported': JOBS_UNSUPPORTED,
  'reprise-admin-unsupported': ADMIN_UNSUPPORTED,
  'reprise-query-invalid': QUERY_INVALID,
  'reprise-query-timeout': QUERY_TIMEOUT,
  'reprise-version-unsupported': VERSION_UNSUPPORTED,
}
