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
 * Nothing here recurses, so no body can overflow the stack.
 *
 * @module
 */

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
   * Names of members of the outermost object that are left out.
   *
   * @default none
   */
  readonly exclude?: readonly string[]
}

/** Why a well-formed body is not taken. */
export type JsonFault = 'duplicate-member' | 'too-deep'

/** What became of a text. `detail` names no member and no value. */
export type CanonicalResult =
  | { readonly kind: 'canonical'; readonly text: string }
  | { readonly kind: 'not-json' }
  | { readonly kind: 'refused'; readonly reason: JsonFault; readonly detail: string }

/** How deep a body may be nested unless configured otherwise. */
export const DEPTH_MAX = 128

/** `true`, `false`, `null` or a number, by the grammar of RFC 8259. */
const LITERAL = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** An object or array that is not closed yet. */
interface Frame {
  /** `null` in an array. */
  readonly members: Member[] | null
  readonly close: number
  /** Canonical text of the elements of an array, so far. */
  text: string
}

interface Member {
  readonly name: string
  /** Where the name begins, in characters. */
  readonly at: number
  /** Canonical text of name and colon, then also of the value. */
  text: string
}

/**
 * The canonical form of a JSON text. It is `not-json` exactly when `JSON.parse` throws, except that a
 * text that is too deep is refused without being read to its end.
 */
export function canonicalJson(text: string, options: CanonicalOptions = {}): CanonicalResult {
  return new Canonicalizer(text, options).run()
}

/**
 * Reads a text from left to right, once. Methods that read a value answer with its canonical text, or
 * with the empty text when there is none yet: a container was opened, or a fault was found.
 */
class Canonicalizer {
  readonly #source: string
  readonly #depthMax: number
  readonly #exclude: readonly string[]
  readonly #open: Frame[] = []
  #at = 0
  #fault: CanonicalResult | null = null
  #duplicateAt: number | null = null

  constructor(source: string, options: CanonicalOptions) {
    this.#source = source
    this.#depthMax = options.depthMax ?? DEPTH_MAX
    this.#exclude = options.exclude ?? []
  }

  run(): CanonicalResult {
    while (this.#fault === null) {
      let value = this.#value()
      while (value !== '') {
        const frame = this.#open.at(-1)
        if (frame === undefined) return this.#end(value)
        value = this.#attach(frame, value)
      }
    }
    return this.#fault
  }

  #value(): string {
    const code = this.#peek()
    if (code === QUOTE) return this.#string()
    if (code === OPEN_BRACE) return this.#enter({ members: [], close: CLOSE_BRACE, text: '' })
    if (code === OPEN_BRACKET) return this.#enter({ members: null, close: CLOSE_BRACKET, text: '' })
    const start = this.#at
    LITERAL.lastIndex = start
    if (!LITERAL.test(this.#source)) return this.#fail()
    this.#at = LITERAL.lastIndex
    return this.#source.slice(start, this.#at)
  }

  #enter(frame: Frame): string {
    if (this.#open.length >= this.#depthMax) {
      const detail = `The body is nested deeper than ${this.#depthMax} levels`
      return this.#fail({ kind: 'refused', reason: 'too-deep', detail })
    }
    this.#at++
    this.#open.push(frame)
    if (this.#peek() === frame.close) {
      this.#at++
      return this.#leave(frame)
    }
    if (frame.members !== null) this.#name(frame.members)
    return ''
  }

  #name(members: Member[]): void {
    const isQuoted = this.#peek() === QUOTE
    const at = this.#at
    const text = isQuoted ? this.#string() : this.#fail()
    if (text === '') return
    if (this.#peek() === COLON) this.#at++
    else this.#fail()
    const name: string = text.includes('\\') ? JSON.parse(text) : text.slice(1, -1)
    members.push({ name, at, text: `${text}:` })
  }

  /** Adds a value to the container it stands in; answers with that container if it ends there. */
  #attach(frame: Frame, value: string): string {
    const member = frame.members?.at(-1)
    if (member !== undefined) member.text += value
    else frame.text += frame.text === '' ? value : `,${value}`
    const code = this.#peek()
    this.#at++
    if (code === frame.close) return this.#leave(frame)
    if (code !== COMMA) return this.#fail()
    if (frame.members !== null) this.#name(frame.members)
    return ''
  }

  #leave(frame: Frame): string {
    this.#open.pop()
    if (frame.members === null) return `[${frame.text}]`
    const isOutermost = this.#open.length === 0
    let text = ''
    let last: Member | undefined
    for (const member of sorted(frame.members)) {
      if (member.name === last?.name) this.#duplicateAt ??= member.at
      last = member
      if (isOutermost && this.#exclude.includes(member.name)) continue
      text += text === '' ? member.text : `,${member.text}`
    }
    return `{${text}}`
  }

  #string(): string {
    const start = this.#at
    let isPlain = true
    for (let at = start + 1; at < this.#source.length; at++) {
      const code = this.#source.charCodeAt(at)
      if (code === QUOTE) {
        this.#at = at + 1
        const raw = this.#source.slice(start, at + 1)
        return isPlain ? raw : this.#escaped(raw)
      }
      if (code < 0x20) break
      if (code === BACKSLASH) at++
      // A surrogate may be a lone one, which is only distinct from others when it is escaped.
      if (code === BACKSLASH || (code & 0xf800) === 0xd800) isPlain = false
    }
    return this.#fail()
  }

  #escaped(raw: string): string {
    try {
      return JSON.stringify(JSON.parse(raw))
    } catch {
      return this.#fail()
    }
  }

  #end(text: string): CanonicalResult {
    if (!Number.isNaN(this.#peek())) return { kind: 'not-json' }
    if (this.#duplicateAt === null) return { kind: 'canonical', text }
    const detail = `An object names a member again at character ${this.#duplicateAt + 1} of the body`
    return { kind: 'refused', reason: 'duplicate-member', detail }
  }

  /** Skips white space. The code of the character after it, `NaN` at the end. */
  #peek(): number {
    for (;;) {
      const code = this.#source.charCodeAt(this.#at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code
      this.#at++
    }
  }

  #fail(fault: CanonicalResult = { kind: 'not-json' }): '' {
    this.#fault ??= fault
    return ''
  }
}

/** In order of names; equal names in order of appearance. Most clients send them in some order. */
function sorted(members: Member[]): readonly Member[] {
  let last: string | undefined
  for (const { name } of members) {
    if (last !== undefined && last > name) return members.sort(byName)
    last = name
  }
  return members
}

function byName(a: Member, b: Member): number {
  if (a.name === b.name) return 0
  return a.name < b.name ? -1 : 1
}
