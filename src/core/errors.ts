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

/** Every error there is. */
export const ERRORS: Readonly<Record<ErrorCode, ErrorEntry>> = {
  'idempotency-key-missing': {
    status: 400,
    title: 'Idempotency key is missing',
    retryable: false,
    hint: 'Send a key of your own making, fresh for each operation and the same on every retry.',
  },
  'idempotency-key-invalid': {
    status: 400,
    title: 'Idempotency key is invalid',
    retryable: false,
    hint: 'Send exactly one key, such as a UUID, in quotes or bare.',
  },
  'idempotency-key-expired': {
    status: 400,
    title: 'Idempotency key is too old',
    retryable: false,
    hint: 'What became of the first request is no longer known. Look at its effect before you send it again with a new key.',
  },
  'idempotency-key-reused': {
    status: 422,
    title: 'Idempotency key is already used for another request',
    retryable: false,
    hint: 'Use a new key for a new request, or send the first request again unchanged.',
  },
  'idempotency-in-progress': {
    status: 409,
    title: 'A request with this idempotency key is in progress',
    retryable: true,
    hint: 'Wait as long as Retry-After says, then send the same request with the same key.',
  },
  'idempotency-outcome-unknown': {
    status: 409,
    title: 'The outcome of the first request is unknown',
    retryable: false,
    hint: 'The first request stopped half way and may have taken effect. It is not repeated; a person has to settle it.',
  },
  'idempotency-result-gone': {
    status: 409,
    title: 'The first answer can not be given again',
    retryable: false,
    hint: 'The request took effect once. Its answer was not kept; read the resource instead.',
  },
  'idempotency-body-invalid': {
    status: 400,
    title: 'Request body has no unambiguous meaning',
    retryable: false,
    hint: 'Send JSON whose objects name each member once and that is not nested too deeply.',
  },
  'idempotency-body-too-large': {
    status: 413,
    title: 'Request body is too large to be protected',
    retryable: false,
    hint: 'Send a smaller body.',
  },
  'idempotency-store-unavailable': {
    status: 503,
    title: 'Idempotency store is unavailable',
    retryable: true,
    hint: 'Nothing was started. Wait as long as Retry-After says, then send the same request with the same key.',
  },
  'idempotency-shutting-down': {
    status: 503,
    title: 'Server is shutting down',
    retryable: true,
    hint: 'Nothing was started. Send the same request with the same key again.',
  },
  'idempotency-conflict': {
    status: 503,
    title: 'Transaction lost to others too often',
    retryable: true,
    hint: 'Nothing took effect. Send the same request with the same key again.',
  },
  'idempotency-commit-unknown': {
    status: 503,
    title: 'Connection broke while the answer was being stored',
    retryable: true,
    hint: 'It took effect once or not at all. Send the same request with the same key again to learn which.',
  },
  'idempotency-replay-forbidden': {
    status: 403,
    title: 'The first answer may not be given to this caller any more',
    retryable: false,
    hint: 'The request took effect once. Ask for the permission to see its answer.',
  },
  'idempotency-too-early': {
    status: 425,
    title: 'Request came in early data without an idempotency key',
    retryable: true,
    hint: 'Send it again after the handshake, or with a key.',
  },
  'reprise-options-invalid': {
    status: 500,
    title: 'Options contradict each other or are out of range',
    retryable: false,
    hint: 'Change the option that the message names.',
  },
  'reprise-lease-lost': {
    status: 500,
    title: 'Lease was lost to another run',
    retryable: true,
    hint: 'Stop working: another run has taken over and this one can no longer store its answer.',
  },
  'reprise-schema-missing': {
    status: 500,
    title: 'Database schema is missing or too old',
    retryable: false,
    hint: 'Run the migrations at deploy time (migratePostgres), or leave the option migrate on.',
  },
  'reprise-schema-newer': {
    status: 500,
    title: 'Database schema is newer than this version can use',
    retryable: false,
    hint: 'Deploy the version of reprise that made the schema, or a later one.',
  },
  'reprise-store-unsafe': {
    status: 500,
    title: 'Store is set up so that it can forget or lose records',
    retryable: false,
    hint: 'Change the setting that the message names, or allow it by option.',
  },
  'reprise-seal-broken': {
    status: 500,
    title: 'Stored data can not be opened',
    retryable: false,
    hint: 'Put the key that the message names back into the key ring; keep old keys for as long as records live.',
  },
  'reprise-transactions-unsupported': {
    status: 500,
    title: 'Store has no transactions',
    retryable: false,
    hint: 'Use the PostgreSQL or SQLite store for transaction mode.',
  },
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
