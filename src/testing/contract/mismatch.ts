/**
 * Checks that a key which stands for another request is refused before anything else is looked at.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { ClaimRequest } from '../../engine/store.ts'
import type { StoreCheck, StoreHarness } from '../harness.ts'
import {
  bytes,
  impostorOf,
  LAPSE_MS,
  rivalOf,
  sampleRequest,
  snapshot,
  take,
  takeAndFinish,
} from './sample.ts'

interface Standing {
  readonly name: string
  /** Brings the record there. */
  arrange(harness: StoreHarness, request: ClaimRequest): Promise<unknown>
  readonly recoveryPoint: string | null
  /** What the honest retry is told afterwards. */
  readonly honest: string
}

const STANDINGS: readonly Standing[] = [
  {
    name: 'running',
    arrange: ({ store }, request) => take(store, request),
    recoveryPoint: null,
    honest: 'in_progress',
  },
  {
    name: 'finished',
    arrange: ({ store }, request) => takeAndFinish(store, request),
    recoveryPoint: null,
    honest: 'replay',
  },
  {
    name: 'lapsed and resumable',
    arrange: lapse,
    recoveryPoint: 'started',
    honest: 'resume',
  },
  {
    name: 'lapsed and unknown',
    arrange: lapse,
    recoveryPoint: null,
    honest: 'unknown',
  },
  {
    name: 'suspended and resumable',
    arrange: suspend,
    recoveryPoint: 'started',
    honest: 'resume',
  },
  {
    name: 'suspended and unknown',
    arrange: suspend,
    recoveryPoint: null,
    honest: 'unknown',
  },
]

async function lapse({ store, advance }: StoreHarness, request: ClaimRequest): Promise<void> {
  await take(store, request)
  await advance(LAPSE_MS)
}

async function suspend({ store }: StoreHarness, request: ClaimRequest): Promise<void> {
  const { claim } = await take(store, request)
  assert.equal(await store.release(claim, 'suspend'), true)
}

/** A key that stands for another request is refused before anything else. */
export const mismatchChecks: readonly StoreCheck[] = STANDINGS.map(
  ({ name, arrange, recoveryPoint, honest }) => ({
    name: `refuses another fingerprint while the record is ${name}, and changes nothing`,
    async check(harness) {
      const { store, peer } = harness
      const request = sampleRequest({ recoveryPoint, input: bytes('input') })
      await arrange(harness, request)
      const before = await snapshot(store, request.id)

      assert.equal((await peer.claim(impostorOf(request))).outcome, 'mismatch')
      assert.deepEqual(await snapshot(store, request.id), before)
      assert.equal((await store.claim(rivalOf(request))).outcome, honest)
    },
  }),
)
