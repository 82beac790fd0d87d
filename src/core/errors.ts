/**
 * What Reprise throws: an error that names a row of the table, and says what to do next.
 *
 * @module
 */

import type { ClientErrorCode, ErrorCode, ErrorEntry } from './error-table.ts'

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
export class RepriseError extends Error implements ErrorEntry {
  override readonly name = 'RepriseError'
  readonly code: ErrorCode
  /** What happened here, without a full stop, if there is more to say than the title. */
  readonly detail: string | undefined
  readonly status: number
  readonly title: string
  readonly retryable: boolean
  readonly hint: string
  readonly docsUrl: string

  /**
   * @param entry - row of the table
   * @param detail - what happened here; no key, body or secret belongs in it
   */
  constructor(entry: ErrorEntry, detail?: string, options?: ErrorOptions) {
    const { code, status, title, retryable, hint } = entry
    const docsUrl = docsUrlOf(code)
    super(`${detail ?? title}. ${hint} (${docsUrl})`, options)
    this.code = code
    this.detail = detail
    this.status = status
    this.title = title
    this.retryable = retryable
    this.hint = hint
    this.docsUrl = docsUrl
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
