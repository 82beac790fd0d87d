/**
 * What Reprise throws: an error that names a row of the table, and says what to do next.
 *
 * @module
 */

import type { ClientErrorCode, ErrorCode, ErrorEntry } from './error-table.ts'

/** The page of the codes, as the installed package has it: a path below the app's folder. */
const ERRORS_PAGE = 'node_modules/reprise/docs/errors.md'

/**
 * The type of a problem (RFC 9457): a URI that stands for the code.
 *
 * @param docsUrl - where the app publishes the pages of the codes. One that ends with a slash has a
 * page for each code (`https://api.example/errors/` gives `https://api.example/errors/<code>`); any
 * other is one page with a section for each code (`https://api.example/errors#<code>`). Without it the
 * type is a URN (`urn:reprise:error:<code>`), which leads nowhere: no domain but the app's own is named.
 */
export function problemTypeOf(code: ErrorCode, docsUrl?: string): string {
  if (docsUrl === undefined) return `urn:reprise:error:${code}`
  return `${docsUrl}${docsUrl.endsWith('/') ? '' : '#'}${code}`
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
  /** Section of the code in the installed package, as a path below the app's folder. */
  readonly docs: string

  /**
   * @param entry - row of the table
   * @param detail - what happened here; no key, body or secret belongs in it
   */
  constructor(entry: ErrorEntry, detail?: string, options?: ErrorOptions) {
    const { code, status, title, retryable, hint } = entry
    const docs = `${ERRORS_PAGE}#${code}`
    const said = detail ?? title
    const sentence = said.endsWith('?') ? said : `${said}.`
    super(`${sentence} ${hint === '' ? '' : `${hint} `}(${docs})`, options)
    this.code = code
    this.detail = detail
    this.status = status
    this.title = title
    this.retryable = retryable
    this.hint = hint
    this.docs = docs
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
