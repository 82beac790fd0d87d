/**
 * Checks of `claim`: who is let through, and what the others are told.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { StoreCheck } from '../harness.ts'
import { assertOneGranted, race } from './race.ts'
import {
  assertBytes,
  assertNear,
  bytes,
  expectFound,
  expectGranted,
  impostorOf,
  LAPSE_MS,
  LEASE_MS,
  MINUTE_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  sampleResponse,
  snapshot,
  stepTo,
  take,
  takeAndFinish,
} from './sample.ts'

/** Who is let through, and what the others are told. */
export const claimChecks: readonly StoreCheck[] = [
  {
    name: 'executes a first claim under fence 1',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      const granted = await take(store, request)

      assert.equal(granted.outcome, 'execute')
      assert.deepEqual({ ...granted.claim }, { id: request.id, owner: request.owner, fence: 1 })
      assert.equal(granted.recoveryPoint, 'started')
      assertBytes(granted.input, bytes('input'))
      assert.equal(granted.state, null)
      assert.equal(granted.abandoned, false)
    },
  },
  {
    name: 'lets one of twenty concurrent claims through',
    async check(harness) {
      const results = await race(harness, sampleRequest())

      assertOneGranted(results, { outcome: 'execute', fence: 1 })
    },
  },
  {
    name: 'lets one of twenty concurrent claims take a lapsed lease',
    async check(harness) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      await take(harness.store, request)
      await harness.advance(LAPSE_MS)
      const results = await race(harness, request)

      assertOneGranted(results, { outcome: 'resume', fence: 2 })
    },
  },
  {
    name: 'lets one of twenty concurrent claims recover an unknown outcome',
    async check(harness) {
      const request = sampleRequest({ takesUnknown: true })
      await take(harness.store, request)
      await harness.advance(LAPSE_MS)
      const results = await race(harness, request)

      assertOneGranted(results, { outcome: 'recover', fence: 2 })
    },
  },
  {
    name: 'grants a claim that is sent again, with the input that the first of them brought',
    async check({ store, peer }) {
      const request = sampleRequest({ input: bytes('input') })
      const first = await take(store, request)
      const again = await take(peer, { ...request, input: bytes('sealed again') })

      assert.equal(again.outcome, 'execute')
      assert.deepEqual({ ...again.claim }, { ...first.claim })
      assertBytes(again.input, bytes('input'))
      assert.equal(again.abandoned, false)
    },
  },
  {
    name: 'grants every copy of a claim that is sent many times at once',
    async check({ store, peer }) {
      const request = sampleRequest()
      const copies = Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? store : peer))
      const results = await Promise.all(copies.map((through) => through.claim(request)))

      const grants = results.map(expectGranted)
      assert.deepEqual([...new Set(grants.map(({ outcome }) => outcome))], ['execute'])
      assert.deepEqual([...new Set(grants.map(({ claim }) => claim.fence))], [1])
    },
  },
  {
    name: 'grants a resuming claim that is sent again under the same fence',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await store.advance(claim, stepTo('charged', bytes('state')))
      await advance(LAPSE_MS)
      const rival = rivalOf(request)
      await take(store, rival)
      const again = await take(store, rival)

      assert.equal(again.outcome, 'resume')
      assert.equal(again.claim.fence, 2)
      assert.equal(again.recoveryPoint, 'charged')
      assertBytes(again.state, bytes('state'))
    },
  },
  {
    name: 'grants a recovering claim that is sent again under the same fence',
    async check({ store, advance }) {
      const request = sampleRequest()
      await take(store, request)
      await advance(LAPSE_MS)
      const rival = rivalOf(request, { takesUnknown: true })
      await take(store, rival)
      const again = await take(store, rival)

      assert.equal(again.outcome, 'recover')
      assert.equal(again.claim.fence, 2)
    },
  },
  {
    name: 'counts the lease from a claim that is sent again',
    async check({ store, advance }) {
      const request = sampleRequest()
      await take(store, request)
      await advance(LEASE_MS - 10 * MINUTE_MS)
      await take(store, request)
      await advance(LEASE_MS - 10 * MINUTE_MS)
      const { outcome } = await store.claim(rivalOf(request))

      assert.equal(outcome, 'in_progress')
    },
  },
  {
    name: 'grants a claim that is sent again after its lease lapsed, under the same fence',
    async check({ store, advance }) {
      const request = sampleRequest()
      await take(store, request)
      await advance(LAPSE_MS)
      const again = await take(store, request)

      assert.equal(again.outcome, 'execute')
      assert.equal(again.claim.fence, 1)
    },
  },
  {
    name: 'tells a duplicate how long the lease holds and how old the record is',
    async check({ store, advance }) {
      const request = sampleRequest()
      await take(store, request)
      await advance(20 * MINUTE_MS)
      const result = await store.claim(rivalOf(request))

      assert.equal(result.outcome, 'in_progress')
      assertNear(result.leaseLeftMs, LEASE_MS - 20 * MINUTE_MS)
      assertNear(result.ageMs, 20 * MINUTE_MS)
    },
  },
  {
    name: 'changes nothing when a duplicate is told that it is in progress',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      await take(store, request)
      const before = await snapshot(store, request.id)
      const { outcome } = await store.claim(
        rivalOf(request, { recoveryPoint: 'other', input: null, takesUnknown: true }),
      )

      assert.equal(outcome, 'in_progress')
      assert.deepEqual(await snapshot(store, request.id), before)
    },
  },
  {
    name: 'replays a finished record, also to the run that finished it',
    async check({ store, peer }) {
      const request = sampleRequest()
      await takeAndFinish(store, request)

      assert.equal((await peer.claim(rivalOf(request))).outcome, 'replay')
      assert.equal((await store.claim(request)).outcome, 'replay')
    },
  },
  {
    name: 'changes nothing when it replays',
    async check({ store, advance }) {
      const request = sampleRequest()
      await takeAndFinish(store, request)
      const before = await snapshot(store, request.id)
      await store.claim(rivalOf(request, { takesUnknown: true }))

      assert.deepEqual(await snapshot(store, request.id), before)
      await advance(LAPSE_MS)
      assert.equal((await store.claim(rivalOf(request))).outcome, 'replay')
    },
  },
  {
    name: 'matches any fingerprint that the claimant accepts and keeps the stored one',
    async check({ store }) {
      const request = sampleRequest()
      await takeAndFinish(store, request)
      const rotated = rivalOf(request, {
        fingerprint: 'under the new secret',
        fingerprintsAccepted: ['under the new secret', request.fingerprint],
      })

      assert.equal((await store.claim(rotated)).outcome, 'replay')
      const { record } = await expectFound(store, request.id)
      assert.equal(record.fingerprint, request.fingerprint)
    },
  },
  {
    name: 'keeps the stored fingerprint when a lease is taken under a newer one',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      await take(store, request)
      await advance(LAPSE_MS)
      const { outcome } = await store.claim(
        rivalOf(request, {
          fingerprint: 'under the new secret',
          fingerprintsAccepted: ['under the new secret', request.fingerprint],
        }),
      )

      assert.equal(outcome, 'resume')
      const { record } = await expectFound(store, request.id)
      assert.equal(record.fingerprint, request.fingerprint)
    },
  },
  {
    name: 'lets the same fingerprint through under different ids',
    async check({ store }) {
      const [one, other] = [
        sampleRequest({ fingerprint: 'f' }),
        sampleRequest({ fingerprint: 'f' }),
      ]
      await takeAndFinish(store, one)

      assert.equal((await store.claim(other)).outcome, 'execute')
    },
  },
  {
    name: 'keeps ids apart that differ in case only',
    async check({ store }) {
      const request = sampleRequest()
      const lower = sampleRequest({ id: `a${request.id.slice(1)}` })
      const upper = sampleRequest({ id: `A${request.id.slice(1)}` })
      await takeAndFinish(store, lower, sampleFinish({ response: sampleResponse('lower') }))

      assert.equal((await store.claim(upper)).outcome, 'execute')
      assert.equal((await store.claim(rivalOf(lower))).outcome, 'replay')
    },
  },
  {
    name: 'refuses another fingerprint also to the owner of the lease',
    async check({ store }) {
      const request = sampleRequest()
      await take(store, request)
      const { outcome } = await store.claim({ ...impostorOf(request), owner: request.owner })

      assert.equal(outcome, 'mismatch')
    },
  },
]
