/**
 * The canonical form of JSON for adapters that only get the parsed body. What parsing lost, such as
 * the last digits of a large number, is lost to the fingerprint too: use `canonicalJson` wherever the
 * raw body can be had.
 *
 * @module
 */

import type { RepriseError } from './errors.ts'
import { bodyInvalid, type CanonicalOptions, DEPTH_MAX } from './json.ts'
import { type Exclusion, exclusionOf } from './member-path.ts'

/** The members of an object by name, or the elements of an array by number. */
type Members = Readonly<Record<string | number, unknown>>

/** A container whose entries are being written. */
interface Walk {
  readonly container: Members
  /** Of its members, in order; `null` for an array. */
  readonly names: string[] | null
  readonly length: number
  /** What of it is left out. */
  readonly exclusion: Exclusion | undefined
  /** How many are written. */
  at: number
}

/**
 * The canonical text of a JSON value that is already parsed: that of `JSON.stringify(value)`. Throws
 * `RepriseError` `idempotency-body-invalid` where JSON would lose something.
 */
export function canonicalValue(value: unknown, options: CanonicalOptions = {}): string {
  const { depthMax = DEPTH_MAX, exclude = [] } = options
  const open: Walk[] = []
  let exclusion = exclusionOf(exclude)
  let text = ''
  for (let next: unknown = value; ; ) {
    const json = hasToJson(next) ? next.toJSON() : next
    if (typeof json === 'object' && json !== null) {
      if (open.length >= depthMax) {
        throw bodyInvalid(`The body contains itself or is nested deeper than ${depthMax} levels`)
      }
      const names = Array.isArray(json) ? null : namesOf(json, exclusion)
      // Without names it is an array; and whatever it is, its members can be asked for.
      const container = json as Members & { readonly length: number }
      const elements = exclusion?.elements?.isWhole === true ? 0 : container.length
      open.push({ container, names, length: names?.length ?? elements, exclusion, at: 0 })
      text += names === null ? '[' : '{'
    } else text += scalar(json)

    let top = open.at(-1)
    while (top !== undefined && top.at === top.length) {
      text += top.names === null ? ']' : '}'
      open.pop()
      top = open.at(-1)
    }
    if (top === undefined) return text
    const { container, names, at } = top
    const name = names?.[at]
    const before = name === undefined ? '' : `${quoted(name)}:`
    text += at === 0 ? before : `,${before}`
    next = container[name ?? at]
    exclusion = name === undefined ? top.exclusion?.elements : top.exclusion?.members.get(name)
    top.at++
  }
}

/** The members that say something, in the order of their names. */
function namesOf(value: object, exclusion: Exclusion | undefined): string[] {
  // Maps, sets, buffers and the like would all become {}.
  if (Object.prototype.toString.call(value) !== '[object Object]') throw unsayable('an object')
  const members = value as Members // It is an object, whatever else.
  const names = Object.keys(members)
  let isWhole = exclusion === undefined
  for (const name of names) if (members[name] === undefined) isWhole = false
  if (isWhole) return sorted(names)
  return sorted(
    names.filter((name) => {
      return members[name] !== undefined && exclusion?.members.get(name)?.isWhole !== true
    }),
  )
}

/** Beyond this sorting by insertion takes longer. */
const FEW = 24

/** By code units. Few names are put in order where they are, without what `sort` takes for it. */
function sorted(names: string[]): string[] {
  if (names.length > FEW) return names.sort()
  for (let at = 1; at < names.length; at++) {
    const name = names[at] ?? ''
    let to = at
    for (; to > 0 && name < (names[to - 1] ?? ''); to--) names[to] = names[to - 1] ?? ''
    names[to] = name
  }
  return names
}

function scalar(value: unknown): string {
  if (typeof value === 'string') return quoted(value)
  const isSayable = value === null || typeof value === 'boolean' || Number.isFinite(value)
  if (!isSayable) throw unsayable(typeof value === 'number' ? 'a number' : `a ${typeof value}`)
  return String(value)
}

/** Texts that are written as they are: to look costs less than to have them written. */
const PLAIN = /^[ !#-[\]-~]*$/

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text)
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
