/**
 * What a person may read of stored bodies: secrets are masked before anything leaves the server, and
 * numbers stay as exact as they were written.
 *
 * @module
 */

import { createHash } from 'node:crypto'

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
}

/** Masks values by the names that they stand under. */
export type Redact = (value: unknown) => unknown

/** Names that are masked, in small letters and without signs. */
const SECRET = [
  ...['authorization', 'authentication', 'cookie', 'password', 'passwd', 'passphrase', 'pwd'],
  ...['secret', 'token', 'apikey', 'privatekey', 'accesskey', 'credential', 'session', 'signature'],
  ...['card', 'pan', 'cvv', 'cvc', 'iban', 'accountnumber', 'routingnumber', 'sortcode', 'bic'],
  ...['ssn', 'socialsecurity', 'taxid', 'passport', 'pin', 'otp', 'dateofbirth'],
]

/** So short that they are parts of other words: masked only where they are the whole name. */
const WHOLE: ReadonlySet<string> = new Set(['pan', 'bic', 'pin', 'otp', 'pwd', 'ssn'])

/** What is a secret wherever it stands: credentials, and what may be the number of a card. */
const CREDENTIAL = /\b(?:Bearer|Basic)\s+[\w.~+/-]{8,}=*|\b(?:sk|rk|pk|whsec)_\w{8,}/g
const DIGITS = /\b\d(?:[ -]?\d){12,18}\b/g

/** What is nested deeper is not shown: nobody reads it, and to walk through it takes a stack. */
const DEPTH_MAX = 200
const TOO_DEEP = 'REDACTED: nested too deeply to be shown'

/** Makes the function that masks. */
export function redactor({ names = [], keep = [] }: RedactOptions = {}): Redact {
  const kept = new Set(keep.map(bare))
  const added = names.map(bare)
  const isSecret = (name: string) => {
    const plain = bare(name)
    if (kept.has(plain)) return false
    const isKnown = SECRET.some((one) => (WHOLE.has(one) ? plain === one : plain.includes(one)))
    return isKnown || added.some((one) => plain.includes(one))
  }
  const redact = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return withoutSecrets(value)
    if (typeof value !== 'object' || value === null) return value
    if (depth > DEPTH_MAX) return TOO_DEEP
    if (Array.isArray(value)) return value.map((one) => redact(one, depth + 1))
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => {
        const isMasked = isSecret(name) && member !== null
        return [name, isMasked ? masked(member) : redact(member, depth + 1)]
      }),
    )
  }
  return (value) => redact(value, 1)
}

/** What stands in the place of a secret: the same for the same secret, so that two can be compared. */
export function masked(value: unknown): string {
  const text = typeof value === 'string' ? value : textOf(value)
  return `REDACTED:${createHash('sha256').update(text).digest('hex').slice(0, 8)}`
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    // Nested so deeply that the stack does not reach: still a secret.
    return TOO_DEEP
  }
}

function withoutSecrets(text: string): string {
  return text
    .replaceAll(CREDENTIAL, (found) => masked(found))
    .replaceAll(DIGITS, (found) => (isCardNumber(found) ? masked(found) : found))
}

/** The check that every number of a card passes. */
function isCardNumber(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '').split('').reverse().map(Number)
  const sum = digits.reduce((all, digit, index) => {
    const doubled = index % 2 === 0 ? digit : digit * 2
    return all + (doubled > 9 ? doubled - 9 : doubled)
  }, 0)
  return sum % 10 === 0
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
