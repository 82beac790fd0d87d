/**
 * Checks that a record counts as absent from the instant on at which its retention ends.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { StoreCheck } from '../harness.ts'
import { assertOneGranted, race } from './race.ts'
import {
  bytes,
  comparable,
  EXPIRY_MS,
  expectFound,
  HOUR_MS,
  impostorOf,
  RETENTION_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  stepTo,
  take,
  takeAndFinish,
} from './sample.ts'

/** A record counts as absent from the end of its retention on. */
export const expiryChecks: readonly StoreCheck[] = [
  {
    name: 'replays until the retention ends',
    async check({ store, advance }) {
      const request = sampleRequest()
      await takeAndFinish(store, request)
      await advance(RETENTION_MS - HOUR_MS)

      assert.equal((await store.claim(rivalOf(request))).outcome, 'replay')
    },
  },
  {
    name: 'executes any request in place of an expired answer',
    async check({ store, peer, advance }) {
      const request = sampleRequest()
      await takeAndFinish(store, request)
      await advance(EXPIRY_MS)
      const granted = await take(peer, impostorOf(request))

      assert.equal(granted.outcome, 'execute')
      assert.equal(granted.claim.fence, 1)
      assert.equal(granted.abandoned, false)
    },
  },
  {
    name: 'executes any request in place of an expired unfinished record, and says so',
    async check({ store, peer, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await store.release(claim, 'suspend')
      await take(store, rivalOf(request))
      await advance(EXPIRY_MS)
      const granted = await take(peer, impostorOf(request))

      assert.equal(granted.outcome, 'execute')
      assert.equal(granted.claim.fence, 1)
      assert.equal(granted.abandoned, true)
    },
  },
  {
    name: 'leaves nothing of an expired record in the one that replaces it',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      const { claim } = await take(store, request)
      await store.advance(claim, stepTo('charged', bytes('state')))
      await store.finish(claim, sampleFinish({ resource: { type: 'charge', id: 'ch_1' } }))
      await advance(EXPIRY_MS)
      const heir = rivalOf(request, {
        ...{ caller: 'acct_2', operation: 'PUT /orders', key: 'other' },
        ...{ recoveryPoint: null, input: null },
        origin: { requestId: 'req_heir', ip: null, userAgent: null },
        ...{ fingerprint: 'other', fingerprintsAccepted: ['other'] },
      })
      await take(store, heir)
      const { record, status } = await expectFound(store, request.id)

      const { id, caller, operation, key, fingerprint, owner, origin } = heir
      const { createdAt, leaseUntil, expiresAt } = record
      assert.equal(status, 'running')
      assert.deepEqual(comparable(record), {
        ...{ id, caller, operation, key, fingerprint, owner, origin, fence: 1 },
        ...{ createdAt, leaseUntil, expiresAt, finishedAt: null, recoveryPoint: null },
        ...{ input: null, state: null, response: null, resource: null },
      })
    },
  },
  {
    name: 'lets one of twenty concurrent claims replace an expired answer',
    async check(harness) {
      const request = sampleRequest()
      await takeAndFinish(harness.store, request)
      await harness.advance(EXPIRY_MS)

      assertOneGranted(await race(harness, request), { outcome: 'execute', fence: 1 })
    },
  },
  {
    name: 'lets one of twenty concurrent claims replace an expired unfinished record',
    async check(harness) {
      const request = sampleRequest()
      await take(harness.store, request)
      await harness.advance(EXPIRY_MS)
      const results = await race(harness, request)

      assertOneGranted(results, { outcome: 'execute', fence: 1 })
      assert.equal(results.filter((result) => 'claim' in result && result.abandoned).length, 1)
    },
  },
  {
    name: 'grants a claim that replaced an expired record once more when it is sent again',
    async check({ store, advance }) {
      const request = sampleRequest()
      await takeAndFinish(store, request)
      await advance(EXPIRY_MS)
      const rival = rivalOf(request)
      await take(store, rival)
      const again = await take(store, rival)

      assert.equal(again.outcome, 'execute')
      assert.equal(again.claim.fence, 1)
    },
  },
  {
    name: 'lets the holder finish an expired record that nobody replaced',
    async check({ store, advance }) {
      const request = sampleRequest()
      const { claim } = await take(store, request)
      await advance(EXPIRY_MS)

      assert.equal(await store.finish(claim, sampleFinish()), true)
      assert.equal((await store.claim(rivalOf(request))).outcome, 'replay')
    },
  },
]
