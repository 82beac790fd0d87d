/**
 * The key in a member of a body.
 *
 * A member that is there and can be no key (twice in a form, a list, `null`) is given as the empty
 * text, which is refused: a client that sends one believes itself protected.
 *
 * @module
 */

import { RepriseError } from '../core/errors.ts'

/** The member of a body in text. */
export function fieldIn(
  text: string,
  contentType: string | null,
  name: string,
): string | undefined {
  if (isForm(contentType)) {
    const values = new URLSearchParams(text).getAll(name)
    return values.length > 1 ? '' : values[0]
  }
  try {
    return memberOf(JSON.parse(text), name)
  } catch {
    return undefined
  }
}

/**
 * What a body in text says, as a value; `undefined` when there is none.
 *
 * @throws RepriseError `idempotency-body-invalid`
 */
export function valueIn(text: string, contentType: string | null): unknown {
  if (text === '') return undefined
  if (isForm(contentType)) return Object.fromEntries(new URLSearchParams(text))
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw new RepriseError('idempotency-body-invalid', 'The body is not JSON', { cause })
  }
}

/** The member of a body that a parser has read. */
export function memberOf(parsed: unknown, name: string): string | undefined {
  if (typeof parsed !== 'object' || parsed === null || !Object.hasOwn(parsed, name)) {
    return undefined
  }
  const value: unknown = Reflect.get(parsed, name)
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : ''
}

function isForm(contentType: string | null): boolean {
  return /^application\/x-www-form-urlencoded\b/i.test(contentType ?? '')
}
