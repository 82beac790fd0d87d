/**
 * What a person may read of stored bodies: secrets are masked before anything leaves the server, and
 * numbers stay as exact as they were written.
 *
 * @module
 */

import { createHmac } from 'node:crypto'
import { systemRandom } from '../engine/clock.ts'

/** Settings of redaction. */
export interface RedactOptions {
  /**
   * Names to mask in addition, of members and headers. Compared without regard to case and signs, and
   * a name that contains one of these is masked too.
   *
   * @default none
   */
  readonly names?: readonly string[]
  /**
   * Names that are shown although they would be masked.
   *
   * @default none
   */
  readonly keep?: readonly string[]
  /**
   * Key of the masks. Where several processes show the same records and their masks are to be compared,
   * give all of them the same secret of 32 bytes or more.
   *
   * @default random, made when the process starts
   */
  readonly maskKey?: string | Uint8Array
}

/** Masks values by the names that they stand under. */
export type Redact = (value: unknown) => unknown

/** Parts of names that say it alone: compared with each word of a name, such as `pin` in `pinCode`. */
const SECRET_WORDS: ReadonlySet<string> = new Set([
  ...[
    'auth',
    'authorization',
    'authentication',
    'bearer',
    'jwt',
    'oauth',
    'otp',
    'totp',
    'mfa',
    'tan',
  ],
  ...[
    'password',
    'passwd',
    'passwort',
    'passphrase',
    'passcode',
    'pwd',
    'pin',
    'puk',
    'secret',
    'token',
  ],
  ...['cookie', 'credential', 'credentials', 'signature', 'hmac', 'nonce', 'csrf', 'xsrf'],
  ...['card', 'pan', 'cvv', 'cvv2', 'cvc', 'cvc2', 'csc', 'iban', 'bic', 'ssn', 'passport', 'dob'],
])

/** The same for names of several words, in small letters and without signs, wherever they stand. */
const SECRET_NAMES: readonly string[] = [
  ...[
    'authorization',
    'authentication',
    'cookie',
    'password',
    'passwd',
    'passphrase',
    'secret',
    'token',
  ],
  ...['apikey', 'privatekey', 'accesskey', 'encryptionkey', 'signingkey', 'credential', 'session'],
  ...['signature', 'card', 'cvv', 'cvc', 'iban', 'accountnumber', 'routingnumber', 'sortcode'],
  ...[
    'securitycode',
    'verificationcode',
    'accesscode',
    'recoverycode',
    'backupcode',
    'onetimecode',
  ],
  ...['socialsecurity', 'taxid', 'passport', 'dateofbirth', 'birthdate', 'birthday'],
]

/**
 * What is a secret wherever it stands: keys and tokens of well-known forms. Each of these
 * expressions begins at the start of a word and is bounded, so that a long text takes linear time.
 */
const CREDENTIALS: readonly RegExp[] = [
  /\b(?:Bearer|Basic|Digest|Token)\s+[\w.~+/-]{8,}=*/g,
  /\b(?:sk|rk|pk|whsec|npm|ghp|gho|ghu|ghs|ghr|github_pat|glpat|shpat|dop_v1|hf)[_-][\w-]{8,}/g,
  /\bxox[abeoprs]-[\w-]{8,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b|\bAIza[\w-]{30,}/g,
  /(?<![\w-])eyJ[\w-]{4,}\.[\w-]{4,}\.[\w-]*/g,
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
]
/** The password in an address, such as `https://user:password@host`. */
const USER_INFO = /(?<![a-z\d+.-])([a-z][a-z\d+.-]{0,30}:\/\/[^\s/?#@:]*:)([^\s/?#@]+)(?=@)/gi
/** What may be the number of a card, and of an account. */
const DIGITS = /\b\d(?:[ -]?\d){12,18}\b/g
const IBAN = /\b[A-Z]{2}\d{2}(?: ?[A-Z\d]){11,30}\b/g
/** The name before a value: in a query, a form, a header, an attribute of XML or a line of a log. */
const NAME = /(?<![\w.[\]%-])([\w.[\]%-]{1,100})\s{0,9}[=:]\s{0,9}/g
/** The value that stands there. */
const VALUE = /"[^"]*"|'[^']*'|[^\s&;,"'<>]+/y
/** An element of XML with its text. */
const ELEMENT = /<([\w:.-]{1,100})([^<>]*)>([^<]+)(?=<\/\1\s*>)/g

/** What is nested deeper is not shown: nobody reads it, and to walk through it takes a stack. */
const DEPTH_MAX = 200
const TOO_DEEP = 'REDACTED: nested too deeply to be shown'

/** Makes the function that masks. */
export function redactor(options: RedactOptions = {}): Redact {
  const redaction = new Redaction(options)
  return (value) => redaction.redact(value, 1)
}

class Redaction {
  readonly #kept: ReadonlySet<string>
  readonly #added: readonly string[]
  readonly #key: string | Uint8Array

  constructor({ names = [], keep = [], maskKey = systemRandom.bytes(32) }: RedactOptions) {
    this.#kept = new Set(keep.map(bare))
    this.#added = names.map(bare)
    this.#key = maskKey
  }

  redact(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#withoutSecrets(value, depth)
    if (typeof value === 'number') return isCardNumber(String(value)) ? this.#mask(value) : value
    if (typeof value !== 'object' || value === null) return value
    if (depth > DEPTH_MAX) return TOO_DEEP
    if (Array.isArray(value)) return value.map((one) => this.redact(one, depth + 1))
    if (isExact(value)) return isCardNumber(value.$number) ? this.#mask(value.$number) : value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, this.#member(name, member, depth)]),
    )
  }

  /** A member as it is shown. That there is none, or a yes or no, is no secret. */
  #member(name: string, member: unknown, depth: number): unknown {
    const isPlain = member === null || member === undefined || typeof member === 'boolean'
    return this.#isSecret(name) && !isPlain ? this.#mask(member) : this.redact(member, depth + 1)
  }

  #isSecret(name: string): boolean {
    const plain = bare(name)
    if (this.#kept.has(plain)) return false
    const isKnown = SECRET_NAMES.some((one) => plain.includes(one)) || SECRET_WORDS.has(plain)
    return (
      isKnown ||
      this.#added.some((one) => plain.includes(one)) ||
      wordsOf(name).some((word) => SECRET_WORDS.has(word))
    )
  }

  /**
   * What stands in the place of a secret: the same for the same secret, so that two can be compared,
   * and made with a key, so that nobody finds a short secret by trying all of them.
   */
  #mask(value: unknown): string {
    const text = typeof value === 'string' ? value : textOf(value)
    return `REDACTED:${createHmac('sha256', this.#key).update(text).digest('hex').slice(0, 8)}`
  }

  #withoutSecrets(text: string, depth: number): string {
    const nested = depth < DEPTH_MAX ? jsonIn(text) : undefined
    if (nested !== undefined) return JSON.stringify(this.redact(nested, depth + 1))
    const whole = CREDENTIALS.reduce(
      (left, form) => left.replaceAll(form, (found) => this.#mask(found)),
      text.replaceAll(
        USER_INFO,
        (_, before: string, secret: string) => before + this.#mask(secret),
      ),
    )
    return this.#withoutNamed(whole)
      .replaceAll(DIGITS, (found) => (isCardNumber(found) ? this.#mask(found) : found))
      .replaceAll(IBAN, (found) => (isIban(found) ? this.#mask(found) : found))
  }

  /** Masks values by the names that stand before them in the text. */
  #withoutNamed(text: string): string {
    const markup = text.replaceAll(ELEMENT, (found, ...groups: string[]) => {
      const [name = '', rest = '', value = ''] = groups
      return this.#isSecret(name) ? `<${name}${rest}>${this.#mask(value)}` : found
    })
    let shown = ''
    let end = 0
    for (const { 0: before, 1: name = '', index } of markup.matchAll(NAME)) {
      if (index < end || !this.#isSecret(decoded(name))) continue
      VALUE.lastIndex = index + before.length
      const [value = ''] = VALUE.exec(markup) ?? []
      if (value === '' || value.startsWith('REDACTED:')) continue
      shown += markup.slice(end, index + before.length) + this.#mask(value)
      end = index + before.length + value.length
    }
    return shown + markup.slice(end)
  }
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // Nested so deeply that the stack does not reach: still a secret.
    return TOO_DEEP
  }
}

/** The words of a name: `cardPin`, `card_pin` and `X-Card-Pin` have the word `pin`. */
function wordsOf(name: string): readonly string[] {
  return name
    .replaceAll(/([a-z\d])([A-Z])|([A-Z]+)([A-Z][a-z])/g, '$1$3 $2$4')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}

/** The object or list that a text is the JSON of. */
function jsonIn(text: string): unknown {
  if (!/^\s*["[{]/.test(text)) return undefined
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

function isExact(value: object): value is ExactNumber {
  return '$number' in value && typeof value.$number === 'string' && Object.keys(value).length === 1
}

/** The check that every number of a card passes. */
function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/[ -]/g, '')
  if (!/^\d{13,19}$/.test(digits)) return false
  const sum = digits
    .split('')
    .reverse()
    .reduce((all, digit, index) => {
      const doubled = index % 2 === 0 ? Number(digit) : Number(digit) * 2
      return all + (doubled > 9 ? doubled - 9 : doubled)
    }, 0)
  return sum % 10 === 0
}

/** The check that every number of an account passes (ISO 7064, modulo 97). */
function isIban(text: string): boolean {
  const plain = text.replaceAll(' ', '')
  const digits = `${plain.slice(4)}${plain.slice(0, 4)}`
    .split('')
    .map((char) => Number.parseInt(char, 36))
    .join('')
  return digits.split('').reduce((rest, digit) => (rest * 10 + Number(digit)) % 97, 0) === 1
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
}

/** A number that a double can not hold, as it was written. */
export interface ExactNumber {
  readonly $number: string
}

/** Strings are matched lazily: greedily, each character would be remembered. */
const TOKEN = /"[^"\\]*?(?:\\.[^"\\]*?)*?"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Digits that a double holds for sure. */
const DIGITS_MAX = 15

/**
 * Parses JSON. A number that a double can not hold stands as {@link ExactNumber}.
 *
 * @throws SyntaxError where it is none
 */
export function parseExactly(text: string): unknown {
  // What is no JSON is to fail before anything is put into it.
  JSON.parse(text)
  return JSON.parse(text.replaceAll(TOKEN, (token) => (isLost(token) ? exact(token) : token)))
}

function exact(token: string): string {
  return JSON.stringify({ $number: token } satisfies ExactNumber)
}

function isLost(token: string): boolean {
  if (token.startsWith('"')) return false
  if (!Number.isFinite(Number(token))) return true
  const digits = token.replace(/[eE].*$/, '').replaceAll(/^[-0.]+|\D/g, '')
  return digits.length > DIGITS_MAX && !Number.isSafeInteger(Number(token))
}
