/**
 * The one table of errors. Each code has a page of the same name in `docs/errors.md`; a test holds
 * table and page together in both directions.
 *
 * Codes that begin with `idempotency-` are seen by clients, in problem bodies; codes that begin with
 * `reprise-` only by the developers of the server.
 *
 * @module
 */

/** One row of the table. */
export interface ErrorEntry {
  /** HTTP status that the default dialect answers with. */
  readonly status: number
  /** The same for every occurrence. */
  readonly title: string
  /** Whether sending the same request again, with the same key, can succeed. */
  readonly retryable: boolean
  /** What to do next. */
  readonly hint: string
}

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
  | 'reprise-jobs-unsupported'
  | 'reprise-admin-unsupported'
  | 'reprise-query-invalid'
  | 'reprise-query-timeout'

/** Every error there is. */
export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = {
  'idempotency-key-missing': final(
    400,
    'Idempotency key is missing',
    'Send a key of your own making, fresh for each operation and the same on every retry.',
  ),
  'idempotency-key-invalid': final(
    400,
    'Idempotency key is invalid',
    'Send one key, such as a UUID.',
  ),
  'idempotency-key-expired': final(
    400,
    'Idempotency key is too old',
    'See what became of the first request before you send it again with a new key.',
  ),
  'idempotency-key-reused': final(
    422,
    'Idempotency key is already used for another request',
    'Send a new request with a new key, or the first request unchanged.',
  ),
  'idempotency-in-progress': passing(
    409,
    'A request with this idempotency key is in progress',
    'Wait as long as Retry-After says, then send the same request with the same key.',
  ),
  'idempotency-outcome-unknown': final(
    409,
    'The outcome of the first request is unknown',
    'It may have taken effect and is not repeated; a person has to settle it.',
  ),
  'idempotency-result-gone': final(
    409,
    'The first answer can not be given again',
    'The request took effect once; read the resource instead.',
  ),
  'idempotency-body-invalid': final(
    400,
    'Request body is ambiguous',
    'Send JSON that names each member once and is not nested too deeply.',
  ),
  'idempotency-body-too-large': final(413, 'Request body is too large', 'Send a smaller body.'),
  'idempotency-store-unavailable': passing(
    503,
    'Idempotency store is unavailable',
    'Nothing was started. Wait as long as Retry-After says, then send the same request with the same key.',
  ),
  'idempotency-shutting-down': passing(
    503,
    'Server is shutting down',
    'Nothing was started. Send the same request with the same key again.',
  ),
  'idempotency-conflict': passing(
    503,
    'Transaction lost to others too often',
    'Nothing took effect. Send the same request with the same key again.',
  ),
  'idempotency-commit-unknown': passing(
    503,
    'Connection broke while the answer was being stored',
    'It took effect once or not at all. Send the same request with the same key again.',
  ),
  'idempotency-replay-forbidden': final(
    403,
    'The first answer may not be given to this caller',
    'The request took effect once; ask for permission to see its answer.',
  ),
  'idempotency-too-early': passing(
    425,
    'Request came in early data without an idempotency key',
    'Send it again after the handshake, or with a key.',
  ),
  'idempotency-retry-later': passing(
    503,
    'The operation could not be finished yet',
    'What was done so far is kept. Wait as long as Retry-After says, then send the same request with the same key.',
  ),
  'idempotency-input-invalid': final(
    422,
    'The request can not be processed as it is',
    'Nothing was started and the key is free. Correct the request and send it again.',
  ),
  'reprise-options-invalid': final(
    500,
    'Options are invalid',
    'Change the option that the message names.',
  ),
  'reprise-lease-lost': passing(
    500,
    'Lease was lost to another run',
    'Stop working: this run can no longer store its answer.',
  ),
  'reprise-schema-missing': final(
    500,
    'Database schema is missing or too old',
    'Run the migrations at deploy time (migratePostgres), or leave the option migrate on.',
  ),
  'reprise-schema-newer': final(
    500,
    'Database schema is too new',
    'Deploy the version of reprise that made it, or a later one.',
  ),
  'reprise-store-unsafe': final(
    500,
    'Store can forget or lose records',
    'Change the setting that the message names, or allow it by option.',
  ),
  'reprise-seal-broken': final(
    500,
    'Stored data can not be opened',
    'Put the key that the message names back; keep old keys for as long as records live.',
  ),
  'reprise-transactions-unsupported': final(
    500,
    'Store has no transactions',
    'Use the PostgreSQL or SQLite store.',
  ),
  'reprise-jobs-unsupported': final(
    500,
    'Store keeps no staged jobs',
    'Use the PostgreSQL store to stage jobs, or enqueue after the commit.',
  ),
  'reprise-admin-unsupported': final(
    500,
    'Store has no view for operators',
    'Use the PostgreSQL store, or the memory store for tests.',
  ),
  'reprise-query-invalid': final(
    400,
    'What the operator asked for is not valid',
    'Change what the message names.',
  ),
  'reprise-query-timeout': passing(
    503,
    'The database took too long to answer the operator',
    'Narrow the filter, or ask again when the database is less busy.',
  ),
}

/** Sending the same request again can not succeed. */
function final(status: number, title: string, hint: string): ErrorEntry {
  return { status, title, retryable: false, hint }
}

/** Sending the same request again, with the same key, can succeed. */
function passing(status: number, title: string, hint: string): ErrorEntry {
  return { status, title, retryable: true, hint }
}

/** Where the pages of the codes are published, unless configured otherwise. */
export const DOCS_URL = 'https://reprise.dev/errors'

/** The page of a code. */
export function docsUrlOf(code: ErrorCode, base: string = DOCS_URL): string {
  return `${base}#${code}`
}

/**
 * Any failure that Reprise reports. Refusals (mismatch, in progress, replay) are values, not errors;
 * errors of the handler are passed through untouched and are not of this class.
 */
export class RepriseError extends Error {
  override readonly name = 'RepriseError'
  readonly code: ErrorCode
  /** What happened here, without a full stop, if there is more to say than the title. */
  readonly detail: string | undefined
  readonly status: number
  readonly retryable: boolean
  readonly hint: string
  readonly docsUrl: string

  /**
   * @param code - row of the table
   * @param detail - what happened here; no key, body or secret belongs in it
   */
  constructor(code: ErrorCode, detail?: string, options?: ErrorOptions) {
    const entry = ERRORS[code]
    super(`${detail ?? entry.title}. ${entry.hint} (${docsUrlOf(code)})`, options)
    this.code = code
    this.detail = detail
    this.status = entry.status
    this.retryable = entry.retryable
    this.hint = entry.hint
    this.docsUrl = docsUrlOf(code)
  }
}

/** Whether `error` is a {@link RepriseError}, also one from another copy of the package. */
export function isRepriseError(error: unknown): error is RepriseError {
  return (
    error instanceof Error && error.name === 'RepriseError' && 'code' in error && 'hint' in error
  )
}

/** Whether a code is one that clients see. */
export function isClientErrorCode(code: ErrorCode): code is ClientErrorCode {
  return code.startsWith('idempotency-')
}
