/**
 * What lies beneath an error: drivers and ORMs wrap the one that says why.
 *
 * @module
 */

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
