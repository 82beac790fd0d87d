/**
 * Many runs that want the same lease at the same time.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { ClaimRequest, ClaimResult } from '../../engine/store.ts'
import type { StoreHarness } from '../harness.ts'
import { rivalOf } from './sample.ts'

/** Twenty runs claim at once, every other one through the peer. */
export async function race(
  { store, peer }: StoreHarness,
  request: ClaimRequest,
): Promise<readonly ClaimResult[]> {
  const racers = Array.from({ length: 20 }, (_, index) => ({
    through: index % 2 === 0 ? store : peer,
    request: rivalOf(request),
  }))
  return Promise.all(racers.map(({ through, request }) => through.claim(request)))
}

/** Demands one grant among the results, and that all others were told that it is in progress. */
export function assertOneGranted(
  results: readonly ClaimResult[],
  expected: { readonly outcome: string; readonly fence: number },
): void {
  const grants = results.filter((result) => 'claim' in result)
  assert.deepEqual(
    grants.map(({ outcome, claim }) => ({ outcome, fence: claim.fence })),
    [expected],
  )
  const refusals = results.filter((result) => !('claim' in result))
  assert.deepEqual([...new Set(refusals.map(({ outcome }) => outcome))], ['in_progress'])
}
