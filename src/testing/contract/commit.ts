/**
 * Checks that the record and the app's own rows are committed together or not at all.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { TransactionCheck } from '../harness.ts'
import {
  assertNear,
  comparable,
  expectFound,
  impostorOf,
  RETENTION_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  sampleResponse,
  snapshot,
  take,
} from './sample.ts'
import { assertEffects, begin, commitOne, open, transactionsOf } from './transaction.ts'
import { startWatching } from './watch.ts'

/** Record and effect are committed together or not at all. */
export const commitChecks: readonly TransactionCheck[] = [
  {
    name: 'commits the record and the effect together',
    async check(harness) {
      const request = sampleRequest()
      await assertEffects(harness, 1, async () => {
        const transaction = await open(harness, request)
        assert.equal(transaction.outcome, 'execute')
        await harness.addEffect(transaction.tx)
        await transaction.commit(sampleFinish())
      })

      assert.equal((await expectFound(harness.peer, request.id)).status, 'finished')
    },
  },
  {
    name: 'stores the whole record of an answer at the commit',
    async check(harness) {
      const request = sampleRequest()
      const resource = { type: 'charge', id: 'ch_1' }
      await commitOne(harness, request, sampleFinish({ resource }))
      const { record, status } = await expectFound(harness.store, request.id)

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
    name: 'shows neither record nor effect before the commit',
    async check(harness) {
      if (!harness.concurrentTransactions) return
      const request = sampleRequest()
      const before = await harness.countEffects()
      const transaction = await open(harness, request)
      await harness.addEffect(transaction.tx)

      assert.equal(await harness.store.find(request.id), undefined)
      assert.equal(await harness.countEffects(), before)
      await transaction.commit(sampleFinish())
      assert.equal(await harness.countEffects(), before + 1)
    },
  },
  {
    name: 'leaves neither record nor effect after a rollback',
    async check(harness) {
      const request = sampleRequest()
      await assertEffects(harness, 0, async () => {
        const transaction = await open(harness, request)
        await harness.addEffect(transaction.tx)
        await transaction.rollback()
        await transaction.rollback()
      })

      assert.equal(await harness.store.find(request.id), undefined)
    },
  },
  {
    name: 'frees the key for any request after a rollback',
    async check(harness) {
      const request = sampleRequest()
      await (await open(harness, request)).rollback()
      await assertEffects(harness, 1, () => commitOne(harness, impostorOf(request)))

      assert.equal((await begin(harness, request)).outcome, 'mismatch')
    },
  },
  {
    name: 'commits nothing after a statement that failed',
    async check(harness) {
      if (harness.failStatement === undefined) return
      const request = sampleRequest()
      await assertEffects(harness, 0, async () => {
        const transaction = await open(harness, request)
        await harness.addEffect(transaction.tx)
        await harness.failStatement?.(transaction.tx)
        await assert.rejects(transaction.commit(sampleFinish()))
        await transaction.rollback()
      })

      assert.equal(await harness.store.find(request.id), undefined)
      await assertEffects(harness, 1, () => commitOne(harness, request))
    },
  },
  {
    name: 'rolls back after a statement that failed',
    async check(harness) {
      if (harness.failStatement === undefined) return
      const request = sampleRequest()
      await assertEffects(harness, 0, async () => {
        const transaction = await open(harness, request)
        await harness.addEffect(transaction.tx)
        await harness.failStatement?.(transaction.tx)
        await transaction.rollback()
      })

      await assertEffects(harness, 1, () => commitOne(harness, request))
    },
  },
  {
    name: 'loses to a lease that was taken meanwhile, with all effects',
    async check(harness) {
      if (!harness.concurrentTransactions) return
      const request = sampleRequest()
      await assertEffects(harness, 0, async () => {
        const transaction = await open(harness, request)
        await harness.addEffect(transaction.tx)
        await take(harness.peer, rivalOf(request))
        const before = await snapshot(harness.store, request.id)
        const fault = await faultOf(transaction.commit(sampleFinish()))
        assert.equal(transactionsOf(harness.store).classify(fault), 'lost')
        await transaction.rollback()
        assert.deepEqual(await snapshot(harness.store, request.id), before)
      })
    },
  },
  {
    name: 'takes an error of the app for none of its own',
    async check({ store }) {
      assert.equal(transactionsOf(store).classify(new Error('x')), 'other')
      assert.equal(transactionsOf(store).classify(undefined), 'other')
    },
  },
  {
    name: 'is kept alive without harm, also after its end',
    async check(harness) {
      const request = sampleRequest()
      await assertEffects(harness, 1, async () => {
        const transaction = await open(harness, request)
        await transaction.keepAlive()
        await harness.addEffect(transaction.tx)
        await transaction.keepAlive()
        await transaction.commit(sampleFinish())
        await transaction.keepAlive()
        await transaction.rollback()
      })

      assert.equal((await begin(harness, rivalOf(request))).outcome, 'replay')
    },
  },
  {
    name: 'commits at every isolation',
    async check(harness) {
      for (const isolation of ['read committed', 'repeatable read', 'serializable'] as const) {
        const request = sampleRequest()
        await assertEffects(harness, 1, () => commitOne(harness, { ...request, isolation }))
        const replay = await begin(harness, rivalOf(request))

        assert.equal(replay.outcome, 'replay')
      }
    },
  },
  {
    name: 'wakes who watches at the commit',
    async check(harness) {
      if (harness.store.watch === undefined) return
      const request = sampleRequest()
      const { woken, unwatch } = await startWatching(harness, request.id)
      await commitOne(harness, request)

      await woken
      unwatch()
    },
  },
]

/** The error that the promise is rejected with. */
async function faultOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  assert.fail('The commit succeeds.')
}
