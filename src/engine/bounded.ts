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
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => resolve(fallback))
    work.then(
      (value) => {
        cancel()
        resolve(value)
      },
      () => {
        cancel()
        // With its failure.
        resolve(work)
      },
    )
  })
}

/** How a call to the store is bounded. */
export interface Bounds<T> {
  readonly clock: Clock
  /** How long it may take, in milliseconds. */
  readonly ms: number
  /** Told when it failed, or took too long. */
  readonly onError?: (error: unknown) => void
  /** Given an answer that came when nobody waited for it any more. */
  readonly onLate?: ((answer: T) => void) | undefined
}

/**
 * One call to the store, bounded in time; whatever goes wrong comes out as a `RepriseError`. Every
 * request makes some, so who calls waits for one promise and no more.
 *
 * @throws RepriseError `idempotency-store-unavailable`, or what the store itself reports
 */
export function storeCall<T>(bounds: Bounds<T>, call: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const { clock, ms } = bounds
    let isOver = false
    const fail = (error: RepriseError): void => {
      if (isOver) return
      isOver = true
      cancel()
      bounds.onError?.(error)
      reject(error)
    }
    const work = started(call)
    const cancel = clock.after(ms, () => {
      const cause = Object.assign(new Error('No answer came in time.'), { code: 'STORE_TIMEOUT' })
      fail(new RepriseError(STORE_UNAVAILABLE, `The store took more than ${ms} ms`, { cause }))
    })
    work.then(
      (answer) => {
        if (isOver) return bounds.onLate?.(answer)
        isOver = true
        cancel()
        resolve(answer)
      },
      (cause: unknown) => {
        const isTold = isRepriseError(cause)
        fail(isTold ? cause : new RepriseError(STORE_UNAVAILABLE, 'The store failed', { cause }))
      },
    )
  })
}

/** What `work` comes to; a throw is a failure as well. */
export function started<T>(work: () => Promise<T>): Promise<T> {
  try {
    return Promise.resolve(work())
  } catch (error) {
    return thrown(error)
  }
}

async function thrown(error: unknown): Promise<never> {
  throw error
}
