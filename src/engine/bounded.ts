/**
 * Bounds on waiting: a store that hangs must not hang the request.
 *
 * @module
 */

import { STORE_UNAVAILABLE } from '../core/error-table.ts'
import { isRepriseError, RepriseError } from '../core/errors.ts'
import type { Clock } from './clock.ts'

/** Resolves after `ms` milliseconds. */
export function pause(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}

/** The outcome of `work`, or `fallback` after `ms` milliseconds; `work` goes on regardless. */
export function within<T, F>(
  clock: Clock,
  { ms, work, fallback }: { ms: number; work: Promise<T>; fallback: F },
): Promise<T | F> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(fallback))
    work.then(resolve, reject).finally(cancel)
  })
}

/** What {@link storeCall} puts in the place of an answer that did not come in time. */
const LATE: unique symbol = Symbol('late')

/**
 * One call to the store, bounded in time; whatever goes wrong comes out as a `RepriseError`.
 *
 * @throws RepriseError `idempotency-store-unavailable`, or what the store itself reports
 */
export async function storeCall<T>(clock: Clock, ms: number, call: () => Promise<T>): Promise<T> {
  try {
    const answer = await within<T, typeof LATE>(clock, { ms, work: call(), fallback: LATE })
    if (answer !== LATE) return answer
  } catch (cause) {
    if (isRepriseError(cause)) throw cause
    throw new RepriseError(STORE_UNAVAILABLE, 'The store failed', { cause })
  }
  throw new RepriseError(STORE_UNAVAILABLE, `The store took more than ${ms} ms`)
}
