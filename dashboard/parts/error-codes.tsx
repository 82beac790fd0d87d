/**
 * Texts in which the codes of errors lead to their pages.
 *
 * @module
 */

import { ERROR_CODES } from '../../src/core/error-code.ts'
import { urlOf } from '../router.tsx'

const CODES: ReadonlySet<string> = new Set(ERROR_CODES)

/** What may be a code: `idempotency-key` as such is the name of a header, and no code. */
const CANDIDATE = /((?:idempotency|reprise)-[a-z-]+[a-z])/

/** The text, with a link for each code in it. The pages are not drawn by this page's script. */
export function WithCodes({ text }: { text: string }) {
  return (
    <>
      {text
        .split(CANDIDATE)
        .map((part) => (CODES.has(part) ? <a href={urlOf(`errors/${part}`)}>{part}</a> : part))}
    </>
  )
}
