/**
 * Checks of the lease: who may take it over, and from where the work goes on.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { StoreCheck } from '../harness.ts'
import {
  assertBytes,
  bytes,
  comparable,
  expectFound,
  HOUR_MS,
  LAPSE_MS,
  LEASE_MS,
  MINUTE_MS,
  rivalOf,
  sampleRequest,
  snapshot,
  stepTo,
  take,
} from './sample.ts'

/** Who takes a lease over, and from where the work goes on. */
export const leaseChecks: readonly StoreCheck[] = [
  {
    name: 'resumes a lapsed record from its recovery point under the next fence',
    async check({ store, peer, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      const { claim } = await take(store, request)
      await store.advance(claim, stepTo('charged', bytes('state')))
      await advance(LAPSE_MS)
      const rival = rivalOf(request, { recoveryPoint: 'other', input: bytes('other') })
      const granted = await take(peer, rival)

      assert.equal(granted.outcome, 'resume')
      assert.deepEqual({ ...granted.claim }, { id: request.id, owner: rival.owner, fence: 2 })
      assert.equal(granted.recoveryPoint, 'charged')
      assertBytes(granted.state, bytes('state'))
      assertBytes(granted.input, bytes('input'))
      assert.equal(granted.abandoned, false)
    },
  },
  {
    name: 'keeps a lease that was taken over as long as any other',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      await take(store, request)
      await advance(LAPSE_MS)
      await take(store, rivalOf(request))
      await advance(LEASE_MS - 10 * MINUTE_MS)

      assert.equal((await store.claim(rivalOf(request))).outcome, 'in_progress')
    },
  },
  {
    name: 'keeps the rest of the record when the lease is taken over',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      await take(store, request)
      await advance(LAPSE_MS)
      const { record: before } = await expectFound(store, request.id)
      const rival = rivalOf(request, {
        ...{ recoveryPoint: 'other', input: null, retentionMs: 2 * HOUR_MS },
        origin: { requestId: 'req_other', ip: null, userAgent: null },
      })
      await take(store, rival)
      const { record: after } = await expectFound(store, request.id)

      const { leaseUntil } = after
      const expected = { ...before, fence: 2, owner: rival.owner, leaseUntil }
      assert.deepEqual(comparable(after), comparable(expected))
    },
  },
  {
    name: 'reports an unknown outcome to who does not take it, and changes nothing',
    async check({ store, advance }) {
      const request = sampleRequest()
      await take(store, request)
      await advance(LAPSE_MS)
      const before = await snapshot(store, request.id)

      assert.equal((await store.claim(rivalOf(request))).outcome, 'unknown')
      assert.deepEqual(await snapshot(store, request.id), before)
    },
  },
  {
    name: 'lets a claimant recover an unknown outcome under the next fence',
    async check({ store, peer, advance }) {
      const request = sampleRequest({ input: bytes('input') })
      await take(store, request)
      await advance(LAPSE_MS)
      const granted = await take(peer, rivalOf(request, { takesUnknown: true }))

      assert.equal(granted.outcome, 'recover')
      assert.equal(granted.claim.fence, 2)
      assert.equal(granted.recoveryPoint, null)
      assertBytes(granted.input, bytes('input'))
    },
  },
  {
    name: 'resumes a suspended record at once',
    async check({ store, peer }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await store.advance(claim, stepTo('charged', bytes('state')))
      assert.equal(await store.release(claim, 'suspend'), true)
      const granted = await take(peer, rivalOf(request))

      assert.equal(granted.outcome, 'resume')
      assert.equal(granted.claim.fence, 2)
      assert.equal(granted.recoveryPoint, 'charged')
      assertBytes(granted.state, bytes('state'))
    },
  },
  {
    name: 'asks at once who takes the unknown outcome of a suspended record',
    async check({ store }) {
      const request = sampleRequest()
      const { claim } = await take(store, request)
      await store.release(claim, 'suspend')

      assert.equal((await store.claim(rivalOf(request))).outcome, 'unknown')
      const granted = await take(store, rivalOf(request, { takesUnknown: true }))
      assert.equal(granted.outcome, 'recover')
      assert.equal(granted.claim.fence, 2)
    },
  },
  {
    name: 'gives the owner that suspended a record the next fence like anybody else',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await store.release(claim, 'suspend')
      const granted = await take(store, request)

      assert.equal(granted.outcome, 'resume')
      assert.equal(granted.claim.fence, 2)
    },
  },
  {
    name: 'raises the fence with each taking of the lease',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const fences: number[] = []
      for (let taking = 0; taking < 4; taking++) {
        const { claim } = await take(store, rivalOf(request))
        fences.push(claim.fence)
        await advance(LAPSE_MS)
      }

      assert.deepEqual(fences, [1, 2, 3, 4])
    },
  },
]
