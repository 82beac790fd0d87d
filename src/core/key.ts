/**
 * The key: read from the header's field lines, by the grammar of a structured-field string
 * (RFC 9651) or, leniently, from bare visible characters.
 *
 * Most clients send their UUID without the quotes that the draft asks for, and most bare UUIDs are
 * not even a structured-field token. Lenient mode takes both; `"k"` and `k` are the same key. A value
 * that begins with a quote is always held to the grammar, so that no broken string becomes a key.
 *
 * @module
 */

/** Why a field is not a usable key. */
export type KeyFault =
  | 'multiple-lines'
  | 'multiple-values'
  | 'empty-field'
  | 'empty-key'
  | 'not-a-string'
  | 'non-ascii'
  | 'control-char'
  | 'whitespace'
  | 'bad-char'
  | 'bad-escape'
  | 'unterminated'
  | 'bad-parameter'
  | 'trailing-data'
  | 'too-short'
  | 'too-long'
  | 'placeholder'
  | 'format'

/** What the header says. `detail` never repeats what the client sent. */
export type KeyResult =
  | { readonly kind: 'missing' }
  | { readonly kind: 'key'; readonly key: string }
  | { readonly kind: 'invalid'; readonly reason: KeyFault; readonly detail: string }

/** A rule that keys have to satisfy beyond their length. */
export type KeyFormat = 'uuid' | 'uuidv7' | RegExp | ((key: string) => boolean)

/** What counts as a key. */
export interface KeyOptions {
  /**
   * `strict` takes the quoted string of the draft alone, `lenient` also bare visible ASCII.
   *
   * @default 'lenient'
   */
  readonly mode?: 'lenient' | 'strict'
  /**
   * Least length in characters, counted after decoding.
   *
   * @default 1
   */
  readonly lengthMin?: number
  /**
   * Greatest length in characters, counted after decoding.
   *
   * @default 255
   */
  readonly lengthMax?: number
  /**
   * Refuses texts such as `undefined` and `null`: they are the mark of a client that never set its
   * key, and all its requests would share one record.
   *
   * @default true
   */
  readonly guard?: boolean
  /**
   * What a key has to look like. A regular expression has to match somewhere in the key: anchor it.
   *
   * @default any key of the right length
   */
  readonly format?: KeyFormat
  /**
   * Takes a header without content for no header at all. A client that sends one believes itself
   * protected, so this is for clients that can not be mended.
   *
   * @default false
   */
  readonly emptyAsMissing?: boolean
}

const LENGTH_MIN = 1
const LENGTH_MAX = 255

/** Room in the raw value for parameters, on top of a key whose every character is escaped. */
const PARAMETERS_LENGTH_MAX = 1024

const PLACEHOLDERS: ReadonlySet<string> = new Set([
  'undefined',
  'null',
  'NaN',
  '[object Object]',
  'true',
  'false',
])

const PLACEHOLDER = invalid('placeholder', 'The key is the text of a missing value')
const CONTROL_CHAR = invalid('control-char', 'The key has a control character')
const MULTIPLE_VALUES = invalid('multiple-values', 'The header has more than one value')
const BAD_PARAMETER = invalid('bad-parameter', 'The parameters after the key are malformed')

/** Values of parameters, by type: number, string, token, bytes, boolean, date, display string. */
const PARAMETER_VALUES = [
  /-?(?:\d{1,12}\.\d{1,3}|\d{1,15})/,
  /"(?:[ !#-[\]-~]|\\["\\])*"/,
  /[A-Za-z*][!#$%&'*+\-.^_`|~0-9A-Za-z:/]*/,
  /:(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?:/,
  /\?[01]/,
  /@-?\d{1,15}/,
  /%"(?<display>(?:[ !#$&-~]|%[0-9a-f]{2})*)"/,
]

/**
 * One parameter. The types begin differently and no repetition can be split in two ways, so matching
 * takes linear time. What a value that is too long leaves over is found by whoever reads on.
 */
const PARAMETER: RegExp = new RegExp(
  `; *[a-z*][a-z0-9_.*-]*(?:=(?:${PARAMETER_VALUES.map((value) => value.source).join('|')}))?`,
  'y',
)

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i
const ULID_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/**
 * Reads the key from the field lines of its header, as they were received. Adapters that only see
 * lines joined by commas pass one line; a comma between keys is found all the same.
 */
export function parseKey(lines: readonly string[], options: KeyOptions = {}): KeyResult {
  const [line] = lines
  if (line === undefined) return { kind: 'missing' }
  if (lines.length > 1) return invalid('multiple-lines', 'The header occurs more than once')
  const result = readLine(line, options)
  const isEmpty =
    result.kind === 'invalid' && (result.reason === 'empty-field' || result.reason === 'empty-key')
  return isEmpty && options.emptyAsMissing === true ? { kind: 'missing' } : result
}

/**
 * The Unix time in milliseconds that a key carries, or `null` if it is neither a UUIDv7 nor a ULID.
 * Any 26 letters and digits of the ULID alphabet count as a ULID: ask only of keys whose format is
 * known.
 */
export function keyTimestamp(key: string): number | null {
  if (UUID_V7.test(key)) return Number.parseInt(key.slice(0, 8) + key.slice(9, 13), 16)
  if (!ULID.test(key)) return null
  let ms = 0
  for (const digit of key.slice(0, 10).toUpperCase()) ms = ms * 32 + ULID_DIGITS.indexOf(digit)
  return ms
}

/** A text as the quoted string that {@link parseKey} reads it from. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function readLine(line: string, options: KeyOptions): KeyResult {
  const { lengthMax = LENGTH_MAX, mode = 'lenient', guard = true } = options
  if (line.length > 2 * lengthMax + PARAMETERS_LENGTH_MAX) return tooLong(lengthMax)
  // The grammar of strict mode knows no tabs, not even around the value.
  const value = mode === 'strict' ? trim(line, ' ') : trim(line, ' \t')
  if (value === '') return invalid('empty-field', 'The header is empty')
  if (guard && PLACEHOLDERS.has(value)) return PLACEHOLDER
  if (/[\u0080-\uffff]/.test(value)) {
    return invalid('non-ascii', 'The header has a character outside ASCII')
  }
  if (value.startsWith('"')) return accept(readQuoted(value), options)
  return mode === 'strict'
    ? invalid('not-a-string', 'The key is not in double quotes')
    : accept(readBare(value), options)
}

/** The decoded text of a quoted string, or what is wrong with it. */
function readQuoted(value: string): KeyResult {
  let key = ''
  for (let at = 1; at < value.length; at++) {
    let char = value.charAt(at)
    if (char === '"') {
      return faultAfter(value, at + 1) ?? { kind: 'key', key }
    }
    if (char === '\\') {
      at++
      if (at === value.length) break
      char = value.charAt(at)
      if (char !== '"' && char !== '\\') {
        return invalid('bad-escape', 'The key has a backslash that escapes nothing')
      }
    }
    if (isControl(char)) return CONTROL_CHAR
    key += char
  }
  return invalid('unterminated', 'The closing quote of the key is missing')
}

/** What is wrong with the parameters that follow a quoted string. They mean nothing to a key. */
function faultAfter(value: string, start: number): KeyResult | undefined {
  let at = start
  while (value[at] === ';') {
    PARAMETER.lastIndex = at
    const match = PARAMETER.exec(value)
    if (match === null || !isPercentUtf8(match.groups?.['display'])) return BAD_PARAMETER
    at = PARAMETER.lastIndex
  }
  if (at === value.length) return undefined
  if (trim(value.slice(at), ' ').startsWith(',')) return MULTIPLE_VALUES
  return at === start
    ? invalid('trailing-data', 'Something follows the closing quote of the key')
    : BAD_PARAMETER
}

function readBare(value: string): KeyResult {
  for (const char of value) {
    if (char === ' ' || char === '\t') {
      return invalid('whitespace', 'The key has white space and no double quotes')
    }
    if (isControl(char)) return CONTROL_CHAR
    if (char === ',') return MULTIPLE_VALUES
    if (char === '"' || char === '\\' || char === ';') {
      return invalid('bad-char', 'The key has a character that needs double quotes')
    }
  }
  return { kind: 'key', key: value }
}

/** Holds a well-formed key to the rules of the options. */
function accept(result: KeyResult, options: KeyOptions): KeyResult {
  if (result.kind !== 'key') return result
  const { key } = result
  const { lengthMin = LENGTH_MIN, lengthMax = LENGTH_MAX, guard = true, format } = options
  if (trim(key, ' ') === '') return invalid('empty-key', 'The key is empty')
  if (key.length < lengthMin) {
    return invalid('too-short', `The key is shorter than ${lengthMin} characters`)
  }
  if (key.length > lengthMax) return tooLong(lengthMax)
  if (guard && PLACEHOLDERS.has(key)) return PLACEHOLDER
  return format === undefined || hasFormat(key, format)
    ? result
    : invalid('format', 'The key has not the format that is asked for')
}

function hasFormat(key: string, format: KeyFormat): boolean {
  if (format === 'uuid') return UUID.test(key)
  if (format === 'uuidv7') return UUID_V7.test(key)
  if (typeof format === 'function') return format(key)
  // Unlike `test`, `search` neither reads nor moves the position that g and y flags keep.
  return key.search(format) !== -1
}

function isControl(char: string): boolean {
  return char < ' ' || char === '\u007f'
}

function isPercentUtf8(text: string | undefined): boolean {
  if (text === undefined) return true
  try {
    // Its result is used: bundlers take the call for one without effect and would drop it.
    return decodeURIComponent(text).length >= 0
  } catch {
    return false
  }
}

/** Without regular expressions, whose time at the end of a long run of spaces is quadratic. */
function trim(text: string, spaces: string): string {
  let start = 0
  let end = text.length
  while (start < end && spaces.includes(text.charAt(start))) start++
  while (end > start && spaces.includes(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

function tooLong(lengthMax: number): KeyResult {
  return invalid('too-long', `The key is longer than ${lengthMax} characters`)
}

function invalid(reason: KeyFault, detail: string): KeyResult {
  return { kind: 'invalid', reason, detail }
}
