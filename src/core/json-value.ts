/**
 * The canonical form of JSON for adapters that only get the parsed body. What parsing lost, such as
 * the last digits of a large number, is lost to the fingerprint too: use `canonicalJson` wherever the
 * raw body can be had.
 *
 * @module
 */

import type { RepriseError } from './errors.ts'
import { bodyInvalid, type CanonicalOptions, DEPTH_MAX } from './json.ts'

/** A container whose entries are being written. */
interface Walk {
  readonly entries: readonly Entry[]
  readonly close: string
  written: number
}

interface Entry {
  /** What stands before the value: the name and colon of a member. */
  readonly before: string
  readonly value: unknown
}

/**
 * The canonical text of a JSON value that is already parsed: that of `JSON.stringify(value)`. Throws
 * {@link RepriseError} `idempotency-body-invalid` where JSON would lose something.
 */
export function canonicalValue(value: unknown, options: CanonicalOptions = {}): string {
  const { depthMax = DEPTH_MAX, exclude = [] } = options
  const open: Walk[] = []
  let text = ''
  for (let next: unknown = value; ; ) {
    const json = hasToJson(next) ? next.toJSON() : next
    if (typeof json === 'object' && json !== null) {
      if (open.length >= depthMax) {
        throw bodyInvalid(`The body contains itself or is nested deeper than ${depthMax} levels`)
      }
      text += Array.isArray(json) ? '[' : '{'
      open.push(walk(json, open.length === 0 ? exclude : []))
    } else text += scalar(json)

    let top = open.at(-1)
    while (top !== undefined && top.written === top.entries.length) {
      text += top.close
      open.pop()
      top = open.at(-1)
    }
    const entry = top?.entries[top.written]
    if (top === undefined || entry === undefined) return text
    text += top.written === 0 ? entry.before : `,${entry.before}`
    top.written++
    next = entry.value
  }
}

function walk(value: object, exclude: readonly string[]): Walk {
  if (Array.isArray(value)) {
    return { entries: Array.from(value, arrayEntry), close: ']', written: 0 }
  }
  // Maps, sets, buffers and the like would all become {}.
  if (Object.prototype.toString.call(value) !== '[object Object]') throw unsayable('an object')
  const entries: Entry[] = []
  for (const name of Object.keys(value).sort()) {
    const member: unknown = Reflect.get(value, name)
    if (member === undefined || exclude.includes(name)) continue
    entries.push({ before: `${JSON.stringify(name)}:`, value: member })
  }
  return { entries, close: '}', written: 0 }
}

function arrayEntry(value: unknown): Entry {
  return { before: '', value }
}

function scalar(value: unknown): string {
  const isSayable =
    value === null ||
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    Number.isFinite(value)
  if (!isSayable) throw unsayable(typeof value === 'number' ? 'a number' : `a ${typeof value}`)
  return JSON.stringify(value)
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return (
    typeof value === 'object' &&
    value !== null &&
    'toJSON' in value &&
    typeof value.toJSON === 'function'
  )
}

function unsayable(what: string): RepriseError {
  return bodyInvalid(`The body has ${what} that JSON can not say`)
}
