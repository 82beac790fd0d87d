/**
 * The handler's way to its run: `runOf(request)` and, in transaction mode, `txOf(request)`.
 *
 * @module
 */

import { invalid } from '../core/options.ts'
import type { HttpRun } from './watched-handler.ts'

/** Kept apart from the request itself, where a client could write. */
const runs = new WeakMap<object, HttpRun<unknown> | null>()

/**
 * What the handler can say and ask about its run: `markEffect()`, `release()`, `tx` …; `undefined`
 * when the request is not protected (no key, or another method).
 */
export function runOf<Tx = unknown>(request: object): HttpRun<Tx> | undefined {
  // Given by the adapter that the route is set up with, whose store decides what `tx` is.
  return (runs.get(request) ?? undefined) as HttpRun<Tx> | undefined
}

/**
 * The transaction that the handler's own statements belong in.
 *
 * @throws RepriseError `reprise-options-invalid` when the route is not in transaction mode, or the
 * request came without a key and is not protected
 */
export function txOf<Tx>(request: object): Tx {
  const run = runOf<Tx>(request)
  if (run !== undefined && 'tx' in run) return run.tx
  throw invalid('there is no transaction: set transaction on the route, and require a key')
}

/**
 * Notes that the request is being protected.
 *
 * @throws RepriseError `reprise-options-invalid` when it is already
 */
export function markProtected(request: object): void {
  if (runs.has(request)) {
    throw invalid('the route is protected twice: mount idempotent() once per route')
  }
  runs.set(request, null)
}

/** Gives the handler its run. */
export function giveRun<Tx>(request: object, run: HttpRun<Tx>): void {
  runs.set(request, run)
}
