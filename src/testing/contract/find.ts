/**
 * Checks of `find`: the whole record, and where it stands by the store's clock.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { StoreCheck } from '../harness.ts'
import {
  assertNear,
  bytes,
  comparable,
  EXPIRY_MS,
  expectFound,
  freshOwner,
  LEASE_MS,
  RETENTION_MS,
  sampleFinish,
  sampleRequest,
  sampleResponse,
  stepTo,
  take,
  takeAndFinish,
} from './sample.ts'
import { arrangeStandings } from './standings.ts'

/** The whole record is found, and where it stands. */
export const findChecks: readonly StoreCheck[] = [
  {
    name: 'finds nothing where there is no record',
    async check({ store }) {
      assert.equal(await store.find(sampleRequest().id), undefined)
    },
  },
  {
    name: 'finds the whole record of a run',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      await take(store, request)
      const { record, status } = await expectFound(store, request.id)

      const { id, caller, operation, key, fingerprint, owner, origin } = request
      const { createdAt, leaseUntil, expiresAt } = record
      assert.equal(status, 'running')
      assert.deepEqual(comparable(record), {
        ...{ id, caller, operation, key, fingerprint, owner, origin, fence: 1 },
        ...{ recoveryPoint: 'started', input: Buffer.from('input').toString('hex'), state: null },
        ...{ response: null, resource: null, createdAt, finishedAt: null, leaseUntil, expiresAt },
      })
      assertNear((leaseUntil ?? 0) - createdAt, LEASE_MS)
      assertNear(expiresAt - createdAt, RETENTION_MS)
    },
  },
  {
    name: 'finds the whole record of an answer',
    async check({ store }) {
      const request = sampleRequest()
      const resource = { type: 'charge', id: 'ch_1' }
      await takeAndFinish(store, request, sampleFinish({ resource }))
      const { record, status } = await expectFound(store, request.id)

      const { id, caller, operation, key, fingerprint, owner, origin } = request
      const { createdAt, finishedAt, expiresAt } = record
      const sealed = Buffer.from(sampleResponse().sealed).toString('hex')
      assert.equal(status, 'finished')
      assert.deepEqual(comparable(record), {
        ...{ id, caller, operation, key, fingerprint, owner, origin, fence: 1 },
        ...{ recoveryPoint: null, input: null, state: null, response: { status: 201, sealed } },
        ...{ resource, createdAt, finishedAt, leaseUntil: null, expiresAt },
      })
      assertNear((finishedAt ?? 0) - createdAt, 0)
      assertNear(expiresAt - (finishedAt ?? 0), RETENTION_MS)
    },
  },
  {
    name: 'finds a suspended record without owner and lease',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      const { claim } = await take(store, request)
      const { record: before } = await expectFound(store, request.id)
      await store.release(claim, 'suspend')
      const { record, status } = await expectFound(store, request.id)

      assert.equal(status, 'suspended')
      const expected = { ...before, owner: null, leaseUntil: null }
      assert.deepEqual(comparable(record), comparable(expected))
    },
  },
  {
    name: 'tells the standing of a record by the clock of the store',
    async check(harness) {
      const ids = await arrangeStandings(harness, freshOwner())

      for (const [status, id] of Object.entries(ids)) {
        assert.equal((await expectFound(harness.store, id)).status, status)
      }
    },
  },
  {
    name: 'tells that an unfinished record is past its retention',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      await take(store, request)
      await advance(EXPIRY_MS)

      assert.equal((await expectFound(store, request.id)).status, 'expired')
    },
  },
  {
    name: 'shows through the peer what was written, at once',
    async check({ store, peer }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      assert.equal(await peer.find(request.id), undefined)
      const { claim } = await take(store, request)
      assert.equal((await expectFound(peer, request.id)).status, 'running')
      assert.equal(await peer.advance(claim, stepTo('charged')), true)
      assert.equal((await expectFound(store, request.id)).record.recoveryPoint, 'charged')
      assert.equal(await store.finish(claim, sampleFinish()), true)

      assert.equal((await expectFound(peer, request.id)).status, 'finished')
    },
  },
]
