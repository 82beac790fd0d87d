/**
 * JSON in canonical form, taken from its tokens: equal texts for bodies that say the same, different
 * texts for bodies that do not.
 *
 * The body is never parsed into numbers, because a double makes 9007199254740993 and
 * 9007199254740992 one amount. White space goes, members are sorted by the UTF-16 code units of their
 * names, strings are escaped in one way; numbers stay as they are written, so 1 and 1.0 differ, and
 * nothing is normalised in Unicode. An object that names a member twice is refused: which of the two
 * holds depends on who reads it.
 *
 * Nothing here recurses, so no body can overflow the stack. `JSON.parse` is asked first whether the text
 * is JSON at all; what is left to do then is to walk along its tokens.
 *
 * @module
 */

import { BODY_INVALID } from './error-table.ts'
import { RepriseError } from './errors.ts'
import { type Exclusion, exclusionOf } from './member-path.ts'

/** Limits and exceptions of the canonical form. */
export interface CanonicalOptions {
  /**
   * How many arrays and objects may stand inside each other. Documents that people design stay far
   * below; parsers of other languages begin to fail not far above.
   *
   * @default 128
   */
  readonly depthMax?: number
  /**
   * Paths of members that are left out: `sentAt`, `params._meta`, `items[].clientTime`. A backslash
   * before a dot or bracket makes it a part of the name. A path that a body does not have changes nothing.
   *
   * @default none
   */
  readonly exclude?: readonly string[]
}

/** How deep a body may be nested unless configured otherwise. */
export const DEPTH_MAX = 128

/**
 * A string, a bracket or a literal. In a text that is known to be JSON, the commas and colons between
 * them follow from where they stand. Strings are matched lazily: greedily, each character would be
 * remembered, and V8 has no room for those of a long one.
 */
const TOKEN = /"[^"\\]*?(?:\\.[^"\\]*?)*?"|[{}[\]]|[^\s"{}[\]:,]+/g

/** Strings that can be written in more than one way: with an escape, or with half a character. */
const AMBIGUOUS = /[\\\ud800-\udfff]/

/** An object or array that is not closed yet. */
interface Open {
  /** `null` in an array. */
  readonly members: Member[] | null
  /** The member whose value is next. */
  member: Member | undefined
  /** Canonical text of the elements of an array, so far. */
  text: string
  /** What of it is left out. */
  readonly exclusion: Exclusion | undefined
}

interface Member {
  readonly name: string
  /** Which token of the text the name is. */
  readonly at: number
  /** Canonical text of name and colon, then also of the value. */
  text: string
}

/**
 * The canonical form of a JSON text; `undefined` exactly when `JSON.parse` throws.
 *
 * @throws RepriseError `idempotency-body-invalid` where a member is named twice or the nesting is too
 * deep; the detail names no member and no value
 */
export function canonicalJson(source: string, options: CanonicalOptions = {}): string | undefined {
  const { depthMax = DEPTH_MAX, exclude = [] } = options
  const outermost = exclusionOf(exclude)
  const open: Open[] = []
  let at = 0
  for (const token of isJson(source) ? (source.match(TOKEN) ?? []) : []) {
    if (token === '{' || token === '[') {
      if (open.length >= depthMax) throw tooDeep(depthMax)
      const around = open.at(-1)
      const exclusion = around === undefined ? outermost : exclusionWithin(around)
      open.push({ members: token === '{' ? [] : null, member: undefined, text: '', exclusion })
    } else {
      const closed = token === '}' || token === ']' ? open.pop() : undefined
      const text = closed ? close(closed, source) : spelled(token)
      const around = open.at(-1)
      if (around === undefined) return text
      place(text, around, at)
    }
    at++
  }
  return undefined
}

function isJson(text: string): boolean {
  try {
    // Its result is used: bundlers take the call for one without effect and would drop it.
    return JSON.parse(text) !== undefined
  } catch {
    return false
  }
}

/** A string or literal in the one way that it is written here. */
function spelled(token: string): string {
  return AMBIGUOUS.test(token) ? JSON.stringify(JSON.parse(token)) : token
}

/** Puts a text where it stands: among elements, as a name, or after its name. */
function place(text: string, around: Open, at: number): void {
  const { members, member } = around
  if (members === null) {
    if (exclusionWithin(around)?.isWhole !== true) {
      around.text += around.text === '' ? text : `,${text}`
    }
  } else if (member === undefined) {
    const name: string = text.includes('\\') ? JSON.parse(text) : text.slice(1, -1)
    around.member = { name, at, text: `${text}:` }
    members.push(around.member)
  } else {
    member.text += text
    around.member = undefined
  }
}

/** What is left out of the value that comes next. */
function exclusionWithin({ members, member, exclusion }: Open): Exclusion | undefined {
  if (exclusion === undefined || members === null) return exclusion?.elements
  return exclusion.members.get(member?.name ?? '')
}

/** The text of an array, or of an object with its members in the order of their names. */
function close({ members, text, exclusion }: Open, source: string): string {
  if (members === null) return `[${text}]`
  let sorted = ''
  let last: Member | undefined
  for (const member of members.sort(byName)) {
    if (member.name === last?.name) {
      const index = [...source.matchAll(TOKEN)][member.at]?.index ?? 0
      throw bodyInvalid(`An object names a member again at character ${index + 1} of the body`)
    }
    last = member
    if (exclusion?.members.get(member.name)?.isWhole === true) continue
    sorted += sorted === '' ? member.text : `,${member.text}`
  }
  return `{${sorted}}`
}

/** By code units; equal names in order of appearance. */
function byName(a: Member, b: Member): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}

/**
 * Looks how deep a JSON text is nested, without comparing it.
 *
 * @throws RepriseError `idempotency-body-invalid` where it is too deep
 */
export function checkDepth(source: string, depthMax: number): void {
  let depth = 0
  let isText = false
  for (let at = 0; at < source.length; at++) {
    const char = source.charAt(at)
    if (isText) {
      if (char === '\\') at++
      else isText = char !== '"'
    } else if (char === '"') isText = true
    else if (char === '{' || char === '[') depth++
    else if (char === '}' || char === ']') depth--
    if (depth > depthMax) throw tooDeep(depthMax)
  }
}

function tooDeep(depthMax: number): RepriseError {
  return bodyInvalid(`The body is nested deeper than ${depthMax} levels`)
}

/** The error for a body that can not be compared. */
export function bodyInvalid(detail: string): RepriseError {
  return new RepriseError(BODY_INVALID, detail)
}
