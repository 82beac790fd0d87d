/**
 * Checks of what the holder of a lease does with it: renew it, move on, and give it up.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { StoreCheck } from '../harness.ts'
import {
  assertBytes,
  assertNear,
  bytes,
  comparable,
  expectFound,
  HOUR_MS,
  LAPSE_MS,
  LEASE_MS,
  MINUTE_MS,
  RETENTION_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  stepTo,
  take,
} from './sample.ts'

/** What the holder of a lease may do with it. */
export const holderChecks: readonly StoreCheck[] = [
  {
    name: 'renews the lease from now on',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await advance(30 * MINUTE_MS)
      assert.equal(await store.renew(claim, 3 * HOUR_MS), true)
      const duplicate = await store.claim(rivalOf(request))

      assert.equal(duplicate.outcome, 'in_progress')
      assertNear(duplicate.leaseLeftMs, 3 * HOUR_MS)
      await advance(3 * HOUR_MS + 10 * MINUTE_MS)
      assert.equal((await store.claim(rivalOf(request))).outcome, 'resume')
    },
  },
  {
    name: 'changes nothing but the lease when it is renewed within the retention',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      const { claim } = await take(store, request)
      const { record: before } = await expectFound(store, request.id)
      await store.renew(claim, 3 * HOUR_MS)
      const { record: after } = await expectFound(store, request.id)

      const { leaseUntil } = after
      assert.deepEqual(comparable(after), comparable({ ...before, leaseUntil }))
    },
  },
  {
    name: 'keeps a record at least as long as its lease',
    async check({ store }) {
      const request = sampleRequest({ leaseMs: 5 * HOUR_MS, retentionMs: HOUR_MS })
      const { claim } = await take(store, request)
      const { record: claimed } = await expectFound(store, request.id)
      await store.renew(claim, 2 * RETENTION_MS)
      const { record: renewed } = await expectFound(store, request.id)
      await store.advance(claim, { ...stepTo('charged'), leaseMs: 3 * RETENTION_MS })
      const { record: advanced } = await expectFound(store, request.id)

      assertNear(claimed.expiresAt - claimed.createdAt, 5 * HOUR_MS)
      assertNear(renewed.expiresAt - renewed.createdAt, 2 * RETENTION_MS)
      assertNear(advanced.expiresAt - advanced.createdAt, 3 * RETENTION_MS)
    },
  },
  {
    name: 'keeps a record at least as long as a lease that was taken over',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      await take(store, request)
      await advance(LAPSE_MS)
      await take(store, rivalOf(request, { leaseMs: 2 * RETENTION_MS }))
      const { record } = await expectFound(store, request.id)

      assertNear(record.expiresAt - record.createdAt, 2 * RETENTION_MS + LAPSE_MS)
    },
  },
  {
    name: 'moves the recovery point, the state and the lease',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      const { claim } = await take(store, request)
      await advance(30 * MINUTE_MS)
      assert.equal(await store.advance(claim, stepTo('charged', bytes('state'))), true)
      const { record, status } = await expectFound(store, request.id)

      assert.equal(status, 'running')
      assert.equal(record.recoveryPoint, 'charged')
      assertBytes(record.state, bytes('state'))
      assertBytes(record.input, bytes('input'))
      assert.equal(record.fence, 1)
      assertNear((record.leaseUntil ?? 0) - record.createdAt, LEASE_MS + 30 * MINUTE_MS)
    },
  },
  {
    name: 'moves to no recovery point, from where the outcome is unknown',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await store.advance(claim, stepTo('charging', bytes('state')))
      assert.equal(await store.advance(claim, stepTo(null)), true)
      await advance(LAPSE_MS)

      const { record, status } = await expectFound(store, request.id)
      assert.equal(status, 'unknown')
      assert.equal(record.state, null)
      assert.equal((await store.claim(rivalOf(request))).outcome, 'unknown')
    },
  },
  {
    name: 'moves again when the same step is sent again',
    async check({ store, peer }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      const step = stepTo('charged', bytes('state'))

      assert.equal(await store.advance(claim, step), true)
      assert.equal(await peer.advance(claim, step), true)
      const { record } = await expectFound(store, request.id)
      assert.equal(record.recoveryPoint, 'charged')
    },
  },
  {
    name: 'lets the holder go on while nobody took its lapsed lease',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await advance(LAPSE_MS)
      assert.equal(await store.renew(claim, LEASE_MS), true)
      await advance(LAPSE_MS)
      assert.equal(await store.advance(claim, stepTo('charged')), true)
      await advance(LAPSE_MS)
      assert.equal(await store.finish(claim, sampleFinish()), true)

      assert.equal((await store.claim(rivalOf(request))).outcome, 'replay')
    },
  },
  {
    name: 'lets the holder give up a lapsed lease that nobody took',
    async check({ store, advance }) {
      const request = sampleRequest()
      const { claim } = await take(store, request)
      await advance(LAPSE_MS)

      assert.equal(await store.release(claim, 'forget'), true)
      assert.equal(await store.find(request.id), undefined)
    },
  },
  {
    name: 'frees the key for any request when the holder forgets it',
    async check({ store, peer }) {
      const request = sampleRequest({ input: bytes('input'), recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      assert.equal(await store.release(claim, 'forget'), true)
      assert.equal(await store.find(request.id), undefined)
      const other = rivalOf(request, {
        ...{ fingerprint: 'other', fingerprintsAccepted: ['other'] },
        ...{ input: null, recoveryPoint: null },
      })
      const granted = await take(peer, other)

      assert.equal(granted.outcome, 'execute')
      assert.equal(granted.claim.fence, 1)
      assert.equal(granted.input, null)
      assert.equal(granted.abandoned, false)
    },
  },
]
