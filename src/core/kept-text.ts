/**
 * Texts beside the answer that every store can keep: PostgreSQL takes no NUL character.
 *
 * @module
 */

import type { Resource } from './record.ts'

/** Characters of a part of a resource or of an origin. */
const LENGTH_MAX = 1024

/**
 * Refuses, in the handler, a resource that a store could not keep: at the end of the run it would
 * be too late.
 *
 * @throws TypeError
 */
export function checkResource({ type, id }: Resource): void {
  checkText('type', type)
  checkText('id', id)
}

function checkText(name: string, value: unknown): void {
  if (typeof value !== 'string') throw new TypeError(`The ${name} of a resource must be a string.`)
  if (value.includes('\0')) throw new TypeError(`The ${name} of a resource has a NUL character.`)
  if (value.length > LENGTH_MAX) {
    throw new TypeError(`The ${name} of a resource has more than ${LENGTH_MAX} characters.`)
  }
}

/** What a store keeps of a text that the client chose and that nothing depends on. */
export function keptText(value: string | null): string | null {
  if (value === null) return null
  const clean = value.includes('\0') ? value.replaceAll('\0', '') : value
  return clean.length > LENGTH_MAX ? clean.slice(0, LENGTH_MAX) : clean
}
