/**
 * What lies beneath an error: drivers and ORMs wrap the one that says why.
 *
 * @module
 */

import { isClientErrorCode, isRepriseError } from './errors.ts'

/** Where libraries keep the error that they wrapped. */
const WRAPPED = ['cause', 'driverError', 'meta', 'driverAdapterError'] as const
/** How many errors within errors are looked at. */
const CAUSES_MAX = 10

/** The error and everything that it wraps, from the outside in. */
export function causesOf(error: unknown): readonly object[] {
  const causes: object[] = []
  const found: unknown[] = [error]
  for (const cause of found) {
    if (typeof cause !== 'object' || cause === null || causes.length === CAUSES_MAX) continue
    causes.push(cause)
    found.push(...WRAPPED.map((name): unknown => Reflect.get(cause, name)), ...errorsOf(cause))
  }
  return causes
}

/** What PostgreSQL reports before it takes a first statement: sign-in, database, room, start-up. */
const NOT_ADMITTED = /^(28\w{3}|3D000|53300|57P03)$/

/** Whether a call failed for want of a connection, so that the server has never seen it. */
export function isNeverSent(error: unknown, depth: number = CAUSES_MAX): boolean {
  if (typeof error !== 'object' || error === null || depth === 0) return false
  const { syscall, code, cause }: { syscall?: unknown; code?: unknown; cause?: unknown } = error
  if (syscall === 'connect' || syscall === 'getaddrinfo') return true
  if (typeof code === 'string' && NOT_ADMITTED.test(code)) return true
  // One of several attempts may have been sent.
  const errors = errorsOf(error)
  if (errors.length > 0) return errors.every((each) => isNeverSent(each, depth - 1))
  return isNeverSent(cause, depth - 1)
}

function errorsOf(error: object): readonly unknown[] {
  return error instanceof AggregateError ? error.errors : []
}

/** Codes are short words of drivers and of this package; anything else might be a quotation. */
const CODE = /^[A-Za-z0-9_-]{1,64}$/
/** Redis begins the message of an error with its code. */
const REDIS_CODE = /^([A-Z][A-Z0-9]{2,31}) /

/**
 * The code of what lies at the bottom of a failure: of the driver, the database or the socket, such
 * as `ECONNREFUSED`, `28000` or `WRONGTYPE`; `undefined` where nothing beneath has one.
 */
export function causeCodeOf(error: unknown): string | undefined {
  const codes = causesOf(error)
    .filter((cause) => !isRepriseError(cause))
    .map(codeOf)
  return codes.findLast((code) => code !== undefined)
}

function codeOf(error: object): string | undefined {
  const { code, name, message }: { code?: unknown; name?: unknown; message?: unknown } = error
  if (typeof code === 'string') return CODE.test(code) ? code : undefined
  const isReply = name === 'ErrorReply' || name === 'ReplyError' || name === 'SimpleError'
  return isReply ? REDIS_CODE.exec(String(message))?.[1] : undefined
}

/** What to do about a cause, by its code. */
const REMEDIES: readonly (readonly [code: RegExp, remedy: string])[] = [
  [/^ECONNREFUSED$/, 'nothing listens there: check host and port, and that the server runs'],
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'the name of the host is not known: check the host'],
  [
    /TIMEOUT$|^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH)$/,
    'no answer came in time: check host, port, firewall and load',
  ],
  [/^(28\w{3}|WRONGPASS|NOAUTH)$/, 'the server refuses the sign-in: check role and password'],
  [/^3D000$/, 'the database does not exist: check its name, or create it'],
  [/^(42501|NOPERM)$/, 'the role lacks a privilege: npx reprise doctor --role prints the grants'],
  [/^(42P01|3F000|42883)$/, 'the schema is missing: npx reprise migrate up'],
  [/^53300$/, 'the server has no connection left: make pools smaller, or take a pooler'],
  [/^(25006|READONLY)$/, 'the server is a replica: connect to its primary'],
  [/^WRONGTYPE$/, 'a key there holds something else: give the store a prefix of its own'],
  [/CERT|^(ERR_TLS|ERR_SSL|EPROTO)/, 'TLS fails: check the certificate and the TLS settings'],
]

/** Why a store failed, and what to do: its cause by its code, and nothing that the driver quotes. */
export function failureText(error: unknown): string {
  // What Reprise itself found says all of it.
  if (isRepriseError(error) && !isClientErrorCode(error.code)) return error.message
  const code = causeCodeOf(error)
  if (code === undefined) return 'the client gave no code; event.error.cause has its error'
  const remedy = REMEDIES.find(([pattern]) => pattern.test(code))?.[1]
  return remedy === undefined ? code : `${code}, ${remedy}`
}
