/**
 * Query strings and form bodies in canonical form.
 *
 * The order of fields means nothing; the order of values within one field does. A field is all that
 * shares the name before the first bracket, because frameworks read `item[][id]` and `item[][count]`
 * in the order they are sent. Bytes are decoded and never taken for text: broken UTF-8 stays distinct.
 *
 * @module
 */

import { lengthPrefixed } from './identity.ts'
import { exclusionOf, isFieldExcluded, rootOf } from './member-path.ts'

interface Field {
  /** What fields are sorted by. */
  readonly root: string
  readonly name: string
  readonly value: string
}

/**
 * The canonical text of `a=1&b=2`, by the rules of `application/x-www-form-urlencoded`: `+` is a
 * space, a field without `=` has an empty value, a percent sign without two digits is itself.
 *
 * @param encoded - one character per byte
 * @param exclude - paths of the fields that are left out
 */
export function canonicalForm(encoded: string, exclude: readonly string[] = []): string {
  if (encoded === '') return ''
  const exclusion = exclusionOf(exclude.map(bytesOf))
  const fields = encoded
    .split('&')
    .filter((pair) => pair !== '')
    .map(parseField)
    .filter(({ name }) => !isFieldExcluded(name, exclusion))
    .sort(byRoot)
  return lengthPrefixed(fields.flatMap(({ name, value }) => [name, value]))
}

/** The UTF-8 bytes of a text, one character each. */
export function bytesOf(text: string): string {
  return Buffer.from(text).toString('latin1')
}

function parseField(pair: string): Field {
  const split = pair.indexOf('=')
  const name = decode(split === -1 ? pair : pair.slice(0, split))
  const value = split === -1 ? '' : decode(pair.slice(split + 1))
  return { root: rootOf(name), name, value }
}

function decode(text: string): string {
  return text
    .replaceAll('+', ' ')
    .replace(/%[0-9a-f]{2}/gi, (escape) =>
      String.fromCharCode(Number.parseInt(escape.slice(1), 16)),
    )
}

/** Fields of one root keep their order, because sorting is stable. */
function byRoot(a: Field, b: Field): number {
  if (a.root === b.root) return 0
  return a.root < b.root ? -1 : 1
}
