/**
 * The handler's way to its run: `runOf(request)` and, in transaction mode, `txOf(request)`.
 *
 * @module
 */

import { invalid } from '../core/options.ts'
import type { HttpRun } from './watched-handler.ts'

/**
 * Where a request has its run: no client can name it. Not in a map beside it, however weak: a run leads
 * back to its request, so both would outlive every collection of young objects.
 */
const RUN: unique symbol = Symbol('reprise.run')

/** A request that is protected; `null` until its handler is called. */
interface Carrier {
  [RUN]?: HttpRun<unknown> | null
}

/**
 * What the handler can say and ask about its run: `markEffect()`, `release()`, `tx` …; `undefined`
 * when the request is not protected (no key, or another method).
 */
export function runOf<Tx = unknown>(request: object): HttpRun<Tx> | undefined {
  // Who has no request has no types either.
  const run = (request as Carrier | undefined)?.[RUN]
  // Given by the adapter that the route is set up with, whose store decides what `tx` is.
  return (run ?? undefined) as HttpRun<Tx> | undefined
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
  if (Object.hasOwn(request, RUN)) {
    throw invalid('the route is protected twice: mount idempotent() once per route')
  }
  carry(request, null)
}

/** Gives the handler its run. */
export function giveRun<Tx>(request: object, run: HttpRun<Tx>): void {
  const carrier: Carrier = request
  if (Object.hasOwn(request, RUN)) carrier[RUN] = run
  else carry(request, run)
}

/** Not as a member that is copied or logged with the others. */
function carry(request: object, run: HttpRun<unknown> | null): void {
  Object.defineProperty(request, RUN, { value: run, writable: true, configurable: true })
}
