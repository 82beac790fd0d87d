/**
 * What the error bodies of several dialects have in common.
 *
 * @module
 */

import type { ClientErrorCode } from '../error-table.ts'
import type { Occurrence, Problem } from '../problem.ts'

/** Codes that a dialect calls by a name of its own. */
export type CodeNames = Readonly<Partial<Record<ClientErrorCode, string>>>

/** The whole problem in sentences. */
export function messageOf(problem: Problem): string {
  return `${problem.title}. ${problem.detail}`
}

/** The page of the error, where the app publishes one. */
export function docUrlOf(
  { type }: Problem,
  { docsUrl }: Occurrence,
): { readonly doc_url?: string } {
  return docsUrl === undefined ? {} : { doc_url: type }
}

/** The code in snake case; keys of the wrong length have codes of their own. */
export function codeNameOf({ code, keyFault }: Occurrence, names: CodeNames = {}): string {
  if (keyFault === 'too-long') return 'idempotency_key_too_long'
  if (keyFault === 'too-short') return 'idempotency_key_too_short'
  return names[code] ?? code.replaceAll('-', '_')
}
