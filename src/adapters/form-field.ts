/**
 * The hidden field that carries the key of a form post, so that a double submit has one effect.
 *
 * @module
 */

import { FORM_FIELD } from '../core/form-field.ts'
import { type Random, systemRandom } from '../engine/clock.ts'

/** How the field is made. */
export interface FieldOptions {
  /**
   * The key, for a form that is shown again after an error and stands for the same operation.
   *
   * @default a fresh one
   */
  readonly key?: string
  /**
   * Name of the field; the route then has to say `key: { field: name }`.
   *
   * @default 'idempotency_key'
   */
  readonly name?: string
  /**
   * Where a fresh key comes from, for tests.
   *
   * @default real chance
   */
  readonly random?: Pick<Random, 'token'>
}

/**
 * The hidden input to put into a form: each rendering of the form is one operation, however often
 * its button is pressed.
 *
 * @example
 * ```ts
 * page = `<form method="post" action="/orders">${idempotencyField()} … </form>`
 * ```
 * @param options - settings, or the key itself
 * @returns HTML, escaped
 */
export function idempotencyField(options: string | FieldOptions = {}): string {
  const given = typeof options === 'string' ? { key: options } : options
  const { name = FORM_FIELD, random = systemRandom, key = random.token() } = given
  return `<input type="hidden" name="${escaped(name)}" value="${escaped(key)}">`
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => ENTITIES[char] ?? char)
}
