/**
 * Checks of what `begin` makes of the record or the transaction that stands for the identity.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { STARTED } from '../../core/record.ts'
import type { TransactionCheck } from '../harness.ts'
import {
  assertBytes,
  assertNear,
  bytes,
  EXPIRY_MS,
  expectFound,
  HOUR_MS,
  impostorOf,
  LAPSE_MS,
  RETENTION_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  sampleResponse,
  snapshot,
  stepTo,
  take,
  takeAndFinish,
} from './sample.ts'
import { assertEffects, begin, commitOne, isOpen, open } from './transaction.ts'

const besideOpenChecks: readonly TransactionCheck[] = [
  {
    name: 'is refused at once while a transaction of the same request is open',
    async check(harness) {
      const request = sampleRequest()
      await assertEffects(harness, 1, async () => {
        const transaction = await open(harness, request)
        await harness.addEffect(transaction.tx)
        assert.equal((await begin(harness, rivalOf(request))).outcome, 'in_progress')
        await transaction.commit(sampleFinish())
      })

      assert.equal((await begin(harness, rivalOf(request))).outcome, 'replay')
    },
  },
  {
    name: 'is refused at once through the peer while a transaction is open',
    async check(harness) {
      if (!harness.concurrentTransactions) return
      const request = sampleRequest()
      const transaction = await open(harness, request)
      const duplicate = await begin({ store: harness.peer }, rivalOf(request))
      await transaction.rollback()

      assert.equal(duplicate.outcome, 'in_progress')
    },
  },
  {
    name: 'is refused as another request, before it is refused as in progress',
    async check(harness) {
      if (!harness.concurrentTransactions) return
      const request = sampleRequest()
      const transaction = await open(harness, request)
      const outcomes = [
        (await begin(harness, impostorOf(request))).outcome,
        (await begin({ store: harness.peer }, impostorOf(request))).outcome,
      ]
      await transaction.rollback()

      assert.deepEqual(outcomes, ['mismatch', 'mismatch'])
    },
  },
  {
    name: 'opens one of twenty transactions that begin at once',
    async check(harness) {
      const { store, concurrentTransactions } = harness
      const peer = concurrentTransactions ? harness.peer : store
      const request = sampleRequest()
      await assertEffects(harness, 1, async () => {
        const racers = Array.from({ length: 20 }, (_, index) =>
          begin({ store: index % 2 === 0 ? store : peer }, rivalOf(request)),
        )
        const begun = await Promise.all(racers)
        const [winner, ...more] = begun.filter(isOpen)
        assert.ok(winner !== undefined && more.length === 0)
        await harness.addEffect(winner.tx)
        await winner.commit(sampleFinish())
        const refusals = begun.filter((one) => !isOpen(one)).map(({ outcome }) => outcome)
        assert.deepEqual([...new Set(refusals)], ['in_progress'])
      })
    },
  },
  {
    name: 'opens beside a transaction of another identity',
    async check(harness) {
      if (!harness.concurrentTransactions) return
      await assertEffects(harness, 2, async () => {
        const one = await open(harness, sampleRequest())
        const other = await open(harness, sampleRequest())
        await harness.addEffect(one.tx)
        await harness.addEffect(other.tx)
        await other.commit(sampleFinish())
        await one.commit(sampleFinish())
      })
    },
  },
]

const recordChecks: readonly TransactionCheck[] = [
  {
    name: 'replays what a transaction committed, exactly',
    async check(harness) {
      const request = sampleRequest()
      const sealed = Uint8Array.from({ length: 256 }, (_, index) => index)
      const resource = { type: 'charge', id: 'ch_1' }
      await commitOne(
        harness,
        request,
        sampleFinish({ response: { status: 418, sealed }, resource }),
      )
      await harness.advance(HOUR_MS)
      const rival = rivalOf(request)
      const replays = [await begin(harness, rival), await harness.peer.claim(rival)]

      for (const replay of replays) {
        assert.equal(replay.outcome, 'replay')
        assert.equal(replay.response.status, 418)
        assertBytes(replay.response.sealed, sealed)
        assert.deepEqual({ ...replay.resource }, resource)
        assert.equal(replay.owner, request.owner)
        assert.equal(replay.requestId, request.origin.requestId)
        assertNear(replay.expiresInMs, RETENTION_MS - HOUR_MS)
      }
    },
  },
  {
    name: 'replays what was finished under a lease',
    async check(harness) {
      const request = sampleRequest()
      await takeAndFinish(harness.store, request)
      const replay = await begin(harness, rivalOf(request))

      assert.equal(replay.outcome, 'replay')
      assertBytes(replay.response.sealed, sampleResponse().sealed)
    },
  },
  {
    name: 'matches any fingerprint that the transaction accepts',
    async check(harness) {
      const request = sampleRequest()
      await commitOne(harness, request)
      const rotated = rivalOf(request, {
        fingerprint: 'under the new secret',
        fingerprintsAccepted: ['under the new secret', request.fingerprint],
      })

      assert.equal((await begin(harness, rotated)).outcome, 'replay')
    },
  },
  {
    name: 'is refused as another request after the commit, and changes nothing',
    async check(harness) {
      const request = sampleRequest()
      await commitOne(harness, request)
      const before = await snapshot(harness.store, request.id)

      assert.equal((await begin(harness, impostorOf(request))).outcome, 'mismatch')
      assert.equal((await harness.store.claim(impostorOf(request))).outcome, 'mismatch')
      assert.deepEqual(await snapshot(harness.store, request.id), before)
    },
  },
  {
    name: 'is refused while a lease is live, and changes nothing',
    async check(harness) {
      const request = sampleRequest()
      await take(harness.store, request)
      const before = await snapshot(harness.store, request.id)

      assert.equal((await begin(harness, rivalOf(request))).outcome, 'in_progress')
      assert.equal((await begin(harness, impostorOf(request))).outcome, 'mismatch')
      assert.deepEqual(await snapshot(harness.store, request.id), before)
    },
  },
  {
    name: 'reports an unknown outcome to who does not take it, and changes nothing',
    async check(harness) {
      const request = sampleRequest()
      await take(harness.store, request)
      await harness.advance(LAPSE_MS)
      const before = await snapshot(harness.store, request.id)

      assert.equal((await begin(harness, rivalOf(request))).outcome, 'unknown')
      assert.deepEqual(await snapshot(harness.store, request.id), before)
    },
  },
  {
    name: 'executes where a run stopped before it had begun',
    async check(harness) {
      const request = sampleRequest({ recoveryPoint: STARTED, input: bytes('input') })
      await take(harness.store, request)
      await harness.advance(LAPSE_MS)
      await assertEffects(harness, 1, async () => {
        const transaction = await open(harness, rivalOf(request))
        assert.equal(transaction.outcome, 'execute')
        await harness.addEffect(transaction.tx)
        await transaction.commit(sampleFinish())
      })

      assert.equal((await expectFound(harness.store, request.id)).status, 'finished')
    },
  },
  {
    name: 'reports an unknown outcome where a run got half way',
    async check(harness) {
      const request = sampleRequest({ recoveryPoint: STARTED })
      const { claim } = await take(harness.store, request)
      await harness.store.advance(claim, stepTo('half_way'))
      await harness.advance(LAPSE_MS)

      assert.equal((await begin(harness, rivalOf(request))).outcome, 'unknown')
      const rival = rivalOf(request, { takesUnknown: true })
      const transaction = await open(harness, rival)
      await transaction.rollback()
      assert.equal(transaction.outcome, 'recover')
    },
  },
  {
    name: 'recovers an unknown outcome and puts its answer in place of the record',
    async check(harness) {
      const request = sampleRequest({ input: bytes('input') })
      const { claim } = await take(harness.store, request)
      await harness.advance(LAPSE_MS)
      const rival = rivalOf(request, { takesUnknown: true })
      await assertEffects(harness, 1, async () => {
        const transaction = await open(harness, rival)
        assert.equal(transaction.outcome, 'recover')
        await harness.addEffect(transaction.tx)
        await transaction.commit(sampleFinish())
      })

      const { record, status } = await expectFound(harness.store, request.id)
      assert.equal(status, 'finished')
      assert.equal(record.owner, rival.owner)
      const zombie = sampleFinish({ response: sampleResponse('from the zombie') })
      assert.equal(await harness.store.finish(claim, zombie), false)
    },
  },
  {
    name: 'leaves an unknown outcome as it was after a rollback',
    async check(harness) {
      const request = sampleRequest({ input: bytes('input') })
      const { claim } = await take(harness.store, request)
      await harness.store.advance(claim, stepTo(null, bytes('state')))
      await harness.advance(LAPSE_MS)
      const before = await snapshot(harness.store, request.id)
      await assertEffects(harness, 0, async () => {
        const transaction = await open(harness, rivalOf(request, { takesUnknown: true }))
        await harness.addEffect(transaction.tx)
        await transaction.rollback()
      })

      assert.deepEqual(await snapshot(harness.store, request.id), before)
    },
  },
  ...[true, false].map(
    (finished): TransactionCheck => ({
      name: `executes any request in place of an expired ${finished ? 'answer' : 'unfinished record'}`,
      async check(harness) {
        const request = sampleRequest()
        const { claim } = await take(harness.store, request)
        if (finished) await harness.store.finish(claim, sampleFinish())
        await harness.advance(EXPIRY_MS)
        const heir = impostorOf(request)
        await assertEffects(harness, 1, () => commitOne(harness, heir))

        const { record, status } = await expectFound(harness.store, request.id)
        assert.equal(status, 'finished')
        assert.equal(record.owner, heir.owner)
        assert.equal(record.fingerprint, heir.fingerprint)
      },
    }),
  ),
  {
    name: 'leaves no transaction open when it is refused',
    async check(harness) {
      const request = sampleRequest()
      await commitOne(harness, request)
      // More refusals than any pool has connections.
      for (let refusal = 0; refusal < 40; refusal++) {
        assert.equal((await begin(harness, rivalOf(request))).outcome, 'replay')
        assert.equal((await begin(harness, impostorOf(request))).outcome, 'mismatch')
      }

      await assertEffects(harness, 1, () => commitOne(harness, sampleRequest()))
    },
  },
]

/** What stands for the identity decides whether the transaction opens. */
export const beginChecks: readonly TransactionCheck[] = [...besideOpenChecks, ...recordChecks]
