/**
 * What a body says, as a value: for those who do not only compare it.
 *
 * @module
 */

import { BODY_INVALID } from './error-table.ts'
import { RepriseError } from './errors.ts'
import { type CanonicalOptions, checkDepth, DEPTH_MAX } from './json.ts'
import { essenceOf, isForm } from './media-type.ts'

/** A body that was read: its text, or what a parser has made of it before. */
export type ReadBody =
  | { readonly text: string; readonly contentType: string | null }
  | { readonly parsed: unknown }

/**
 * What a JSON or form body says.
 *
 * @throws RepriseError `idempotency-body-invalid` when it is not JSON, or nested too deeply: whoever
 * walks through it after us, be it to store it, would run out of stack
 */
export function valueOfBody(
  body: ReadBody,
  { depthMax = DEPTH_MAX }: CanonicalOptions = {},
): unknown {
  if ('parsed' in body) return body.parsed
  const { text, contentType } = body
  if (text === '') return undefined
  if (isForm(essenceOf(contentType))) return Object.fromEntries(new URLSearchParams(text))
  checkDepth(text, depthMax)
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RepriseError(BODY_INVALID, 'The body is not JSON', { cause })
  }
}
