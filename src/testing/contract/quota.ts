/**
 * Checks of quotas: what counts, for how long, and who is refused.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { systemRandom } from '../../engine/clock.ts'
import type { ClaimRequest } from '../../engine/store.ts'
import type { StoreCheck, StoreHarness, TransactionCheck } from '../harness.ts'
import {
  assertNear,
  EXPIRY_MS,
  HOUR_MS,
  impostorOf,
  LAPSE_MS,
  MINUTE_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  snapshot,
  take,
  takeAndFinish,
} from './sample.ts'
import { assertEffects, begin, commitOne, open } from './transaction.ts'

/** For how long the keys of the checks count. */
const PER_MS = 3 * HOUR_MS

/** Requests of a caller whom nobody else is, with so many keys. */
function requestsOf(keys: number): (overrides?: Partial<ClaimRequest>) => ClaimRequest {
  const caller = `acct_${systemRandom.token()}`
  const quota = { keys, perMs: PER_MS }
  return (overrides) => sampleRequest({ caller, quota, ...overrides })
}

/** Demands that the claim is refused for the quota, and gives when there is room. */
async function expectOver(
  { store }: Pick<StoreHarness, 'store'>,
  request: ClaimRequest,
): Promise<number> {
  const result = await store.claim(request)
  assert.equal(result.outcome, 'over_quota')
  return result.roomInMs
}

/** What counts, for how long, and who is refused. */
export const quotaChecks: readonly StoreCheck[] = [
  {
    name: 'refuses the fresh key that is one too many, whoever made the others, and keeps nothing of it',
    async check({ store, peer }) {
      const fresh = requestsOf(2)
      await take(store, fresh())
      await takeAndFinish(peer, fresh())
      const surplus = fresh()
      const results = [await store.claim(surplus), await peer.claim(surplus)]

      assert.deepEqual([...new Set(results.map(({ outcome }) => outcome))], ['over_quota'])
      assert.equal(await store.find(surplus.id), undefined)
    },
  },
  {
    name: 'tells when the quota has room',
    async check({ store, advance }) {
      const fresh = requestsOf(2)
      await take(store, fresh())
      await advance(HOUR_MS)
      await take(store, fresh())

      assertNear(await expectOver({ store }, fresh()), PER_MS - HOUR_MS)
    },
  },
  {
    name: 'has room in the quota for as many as no longer count',
    async check({ store, advance }) {
      const fresh = requestsOf(2)
      await takeAndFinish(store, fresh())
      await advance(HOUR_MS)
      await take(store, fresh())
      await advance(PER_MS - HOUR_MS + 10 * MINUTE_MS)
      await take(store, fresh())

      await expectOver({ store }, fresh())
    },
  },
  {
    name: 'refuses nothing for the quota that has a record',
    async check({ store, peer, advance }) {
      const fresh = requestsOf(3)
      const [finished, running, half] = [fresh(), fresh(), fresh({ recoveryPoint: 'started' })]
      await takeAndFinish(store, finished)
      await take(store, half)
      await advance(LAPSE_MS)
      await take(store, running)
      await expectOver({ store }, fresh())

      assert.equal((await peer.claim(rivalOf(finished))).outcome, 'replay')
      assert.equal((await peer.claim(impostorOf(finished))).outcome, 'mismatch')
      assert.equal((await peer.claim(rivalOf(running))).outcome, 'in_progress')
      assert.equal((await peer.claim(running)).outcome, 'execute')
      assert.equal((await peer.claim(rivalOf(half))).outcome, 'resume')
    },
  },
  {
    name: 'counts a key once, however often its claim is sent or taken over',
    async check({ store, peer, advance }) {
      const fresh = requestsOf(2)
      const request = fresh({ recoveryPoint: 'started' })
      await take(store, request)
      await take(peer, request)
      await advance(LAPSE_MS)
      await take(store, rivalOf(request))
      await take(store, fresh())

      await expectOver({ store }, fresh())
    },
  },
  {
    name: 'counts the keys of each caller by themselves',
    async check({ store }) {
      const [fresh, others] = [requestsOf(1), requestsOf(1)]
      await take(store, fresh())
      await take(store, others())

      await expectOver({ store }, fresh())
      await expectOver({ store }, others())
    },
  },
  {
    name: 'makes nothing for a quota of no keys, and takes up what is there',
    async check({ store, peer, advance }) {
      const fresh = requestsOf(3)
      const none = { quota: { keys: 0, perMs: 1 } }
      const absent = fresh(none)
      await expectOver({ store }, absent)
      await expectOver({ store }, absent)
      assert.equal(await store.find(absent.id), undefined)

      const [finished, half] = [fresh(), fresh({ recoveryPoint: 'started' })]
      await takeAndFinish(store, finished)
      await take(store, half)
      assert.equal((await peer.claim(rivalOf(finished, none))).outcome, 'replay')
      assert.equal((await peer.claim({ ...impostorOf(finished), ...none })).outcome, 'mismatch')
      assert.equal((await peer.claim(rivalOf(half, none))).outcome, 'in_progress')
      await advance(LAPSE_MS)
      assert.equal((await peer.claim(rivalOf(half, none))).outcome, 'resume')

      await advance(EXPIRY_MS)
      const before = await snapshot(store, half.id)
      await expectOver({ store }, rivalOf(half, none))
      assert.deepEqual(await snapshot(store, half.id), before)
    },
  },
  {
    name: 'neither counts nor refuses what is claimed without a quota',
    async check({ store }) {
      const fresh = requestsOf(1)
      await take(store, fresh({ quota: undefined }))
      await take(store, fresh())
      await take(store, fresh({ quota: undefined }))

      await expectOver({ store }, fresh())
    },
  },
  {
    name: 'no longer counts a key that was forgotten, but one that was suspended',
    async check({ store }) {
      const fresh = requestsOf(1)
      const { claim } = await take(store, fresh())
      assert.equal(await store.release(claim, 'forget'), true)
      const { claim: next } = await take(store, fresh())
      assert.equal(await store.release(next, 'suspend'), true)

      await expectOver({ store }, fresh())
    },
  },
  {
    name: 'takes an expired record for a fresh key, and leaves it when the quota has no room',
    async check({ store, advance }) {
      const fresh = requestsOf(1)
      const old = fresh({ quota: undefined })
      await take(store, old)
      await advance(EXPIRY_MS)
      const before = await snapshot(store, old.id)
      await take(store, fresh())
      await expectOver({ store }, fresh({ id: old.id, key: old.key }))

      assert.deepEqual(await snapshot(store, old.id), before)
    },
  },
  {
    name: 'holds each claim to the quota that it brings',
    async check({ store }) {
      const fresh = requestsOf(1)
      await take(store, fresh())
      await expectOver({ store }, fresh())
      await take(store, fresh({ quota: { keys: 2, perMs: PER_MS } }))

      await expectOver({ store }, fresh({ quota: { keys: 2, perMs: PER_MS } }))
    },
  },
]

/** The same of transactions. */
export const transactionQuotaChecks: readonly TransactionCheck[] = [
  {
    name: 'is refused when its key is one too many for the quota, and leaves nothing open',
    async check(harness) {
      const fresh = requestsOf(2)
      await commitOne(harness, fresh())
      await take(harness.store, fresh())
      await assertEffects(harness, 0, async () => {
        const surplus = fresh()
        // More refusals than any pool has connections.
        for (let refusal = 0; refusal < 40; refusal++) {
          const begun = await begin(harness, surplus)
          assert.equal(begun.outcome, 'over_quota')
          assertNear(begun.roomInMs, PER_MS)
        }
        assert.equal(await harness.store.find(surplus.id), undefined)
        await expectOver(harness, fresh())
      })
    },
  },
  {
    name: 'counts for the quota when it is committed, not when it is rolled back',
    async check(harness) {
      const fresh = requestsOf(1)
      await (await open(harness, fresh())).rollback()
      await commitOne(harness, fresh())

      assert.equal((await begin(harness, fresh())).outcome, 'over_quota')
      await harness.advance(PER_MS + 10 * MINUTE_MS)
      await commitOne(harness, fresh())
    },
  },
  {
    name: 'is refused for no quota when there is a record or a transaction of its key',
    async check(harness) {
      const fresh = requestsOf(1)
      const [done, half] = [fresh(), fresh({ quota: undefined, recoveryPoint: 'started' })]
      await take(harness.store, half)
      await harness.advance(LAPSE_MS)
      const running = fresh({ quota: { keys: 2, perMs: PER_MS } })
      await commitOne(harness, done)
      const replayed = await begin(harness, rivalOf(done))
      const transaction = await open(harness, running)
      const duplicate = await begin(harness, rivalOf(running, { quota: done.quota }))
      await transaction.rollback()
      const resumed = await begin(harness, rivalOf(half, { quota: done.quota }))
      if ('tx' in resumed) await resumed.rollback()

      const outcomes = [replayed, duplicate, resumed].map(({ outcome }) => outcome)
      assert.deepEqual(outcomes, ['replay', 'in_progress', 'execute'])
    },
  },
  {
    name: 'without a quota is neither counted nor refused for one',
    async check(harness) {
      const fresh = requestsOf(1)
      await commitOne(harness, fresh({ quota: undefined }))
      await commitOne(harness, fresh(), sampleFinish())
      await commitOne(harness, fresh({ quota: undefined }))

      assert.equal((await begin(harness, fresh())).outcome, 'over_quota')
    },
  },
]
