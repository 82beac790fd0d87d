/**
 * The key in a form or JSON body.
 *
 * @module
 */

import type { ReadBody } from '../core/body-value.ts'
import { essenceOf, isForm } from '../core/media-type.ts'

/** A member of a body; `undefined` when there is none, empty when it can be no key. */
export function fieldOf(body: ReadBody, name: string): string | undefined {
  if ('parsed' in body) return memberOf(body.parsed, name)
  const { text, contentType } = body
  if (isForm(essenceOf(contentType))) {
    const values = new URLSearchParams(text).getAll(name)
    return values.length > 1 ? '' : values[0]
  }
  try {
    return memberOf(JSON.parse(text), name)
  } catch {
    return undefined
  }
}

function memberOf(parsed: unknown, name: string): string | undefined {
  if (typeof parsed !== 'object' || parsed === null || !Object.hasOwn(parsed, name)) {
    return undefined
  }
  const value: unknown = Reflect.get(parsed, name)
  if (typeof value === 'number') return String(value)
  return typeof value === 'string' ? value : ''
}
