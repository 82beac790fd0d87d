/**
 * Checks of `finish`: the answer is stored once, exactly, and for as long as was said.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { StoreCheck } from '../harness.ts'
import {
  assertBytes,
  assertNear,
  bytes,
  expectFound,
  HOUR_MS,
  LAPSE_MS,
  MINUTE_MS,
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

/** The answer is stored once, exactly, and for as long as was said. */
export const finishChecks: readonly StoreCheck[] = [
  {
    name: 'replays the answer with all that belongs to it',
    async check({ store, peer, advance }) {
      const request = sampleRequest()
      const finish = sampleFinish({ resource: { type: 'charge', id: 'ch_1' } })
      await takeAndFinish(store, request, finish)
      await advance(HOUR_MS)
      const replay = await peer.claim(rivalOf(request, { origin: { ...NOWHERE } }))

      assert.equal(replay.outcome, 'replay')
      assert.equal(replay.response.status, 201)
      assertBytes(replay.response.sealed, finish.response.sealed)
      assert.deepEqual({ ...replay.resource }, { type: 'charge', id: 'ch_1' })
      assert.equal(replay.requestId, request.origin.requestId)
      assert.equal(replay.owner, request.owner)
      assertNear(replay.expiresInMs, RETENTION_MS - HOUR_MS)
    },
  },
  {
    name: 'replays the answer of the run that took over as its own',
    async check({ store, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      await take(store, request)
      await advance(LAPSE_MS)
      const rival = rivalOf(request, { origin: { ...NOWHERE } })
      await takeAndFinish(store, rival)
      const replay = await store.claim(rivalOf(request))

      assert.equal(replay.outcome, 'replay')
      assert.equal(replay.owner, rival.owner)
      assert.equal(replay.requestId, request.origin.requestId)
      assert.equal(replay.resource, null)
    },
  },
  {
    name: 'answers a repeated finish with success and keeps the first answer',
    async check({ store, peer }) {
      const request = sampleRequest()
      const claim = await takeAndFinish(store, request)
      const before = await snapshot(store, request.id)
      const other = sampleFinish({
        response: sampleResponse('other'),
        resource: { type: 'charge', id: 'ch_2' },
        retentionMs: 2 * RETENTION_MS,
      })

      assert.equal(await peer.finish(claim, other), true)
      assert.deepEqual(await snapshot(store, request.id), before)
    },
  },
  {
    name: 'stores one of many answers that the same run sends at once',
    async check({ store, peer }) {
      const request = sampleRequest()
      const { claim } = await take(store, request)
      const texts = Array.from({ length: 10 }, (_, index) => `answer ${index}`)
      const results = await Promise.all(
        texts.map((text, index) =>
          (index % 2 === 0 ? store : peer).finish(
            claim,
            sampleFinish({ response: sampleResponse(text) }),
          ),
        ),
      )
      assert.deepEqual([...new Set(results)], [true])
      const first = await snapshot(store, request.id)

      assert.equal((await store.claim(rivalOf(request))).outcome, 'replay')
      assert.deepEqual(await snapshot(peer, request.id), first)
    },
  },
  {
    name: 'lets either the finish or the taking over win when both come at once',
    async check({ store, peer, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await advance(LAPSE_MS)
      const [finished, rival] = await Promise.all([
        store.finish(claim, sampleFinish()),
        peer.claim(rivalOf(request)),
      ])

      assert.equal(rival.outcome, finished ? 'replay' : 'resume')
      const { status } = await expectFound(store, request.id)
      assert.equal(status, finished ? 'finished' : 'running')
    },
  },
  {
    name: 'drops input and state and gives up the lease',
    async check({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started', input: bytes('input') })
      const { claim } = await take(store, request)
      await store.advance(claim, stepTo('charged', bytes('state')))
      await store.finish(claim, sampleFinish())
      const { record, status } = await expectFound(store, request.id)

      assert.equal(status, 'finished')
      assert.equal(record.input, null)
      assert.equal(record.state, null)
      assert.equal(record.leaseUntil, null)
      assert.equal(record.recoveryPoint, 'charged')
      assert.equal(record.owner, request.owner)
    },
  },
  {
    name: 'counts the retention of an answer from its finish',
    async check({ store, advance }) {
      const request = sampleRequest()
      const { claim } = await take(store, request)
      await advance(30 * MINUTE_MS)
      await store.finish(claim, sampleFinish({ retentionMs: 2 * RETENTION_MS }))
      const { record } = await expectFound(store, request.id)

      assertNear((record.finishedAt ?? 0) - record.createdAt, 30 * MINUTE_MS)
      assertNear(record.expiresAt - (record.finishedAt ?? 0), 2 * RETENTION_MS)
    },
  },
  {
    name: 'keeps an answer for less long than the record was to be kept, when told so',
    async check({ store, advance }) {
      const request = sampleRequest()
      await takeAndFinish(store, request, sampleFinish({ retentionMs: 2 * HOUR_MS }))
      await advance(3 * HOUR_MS)

      assert.equal((await store.claim(rivalOf(request))).outcome, 'execute')
    },
  },
]

const NOWHERE = { requestId: 'req_other', ip: null, userAgent: null } as const
