/**
 * Checks of `sweep`, `stats` and `ready`, which concern the store as a whole.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { RecordStatus } from '../../core/record.ts'
import type { StoreCheck, StoreHarness } from '../harness.ts'
import {
  bytes,
  EXPIRY_MS,
  expectFound,
  freshOwner,
  LAPSE_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  sampleResponse,
  stepTo,
  take,
  takeAndFinish,
} from './sample.ts'
import { arrangeStandings, listAll, sampleRequests, sweepAll } from './standings.ts'

/** Lets all answers expire and sweeps them, so that what is counted next is the check's own. */
async function sweepOthers({ store, advance }: StoreHarness): Promise<void> {
  await advance(10 * EXPIRY_MS)
  await sweepAll(store)
}

async function countStandings(harness: StoreHarness): Promise<Readonly<Record<string, number>>> {
  const listed = await listAll(harness, { limit: 100 })
  const count = (status: RecordStatus) => listed.filter((one) => one.status === status).length
  return { running: count('running'), suspended: count('suspended'), unknown: count('unknown') }
}

const sweepChecks: readonly StoreCheck[] = [
  {
    name: 'sweeps finished records past their retention and nothing else',
    async check(harness) {
      const { store } = harness
      const abandoned = sampleRequest({ recoveryPoint: 'started' })
      await take(store, abandoned)
      await sweepOthers(harness)
      const { expired, ...kept } = await arrangeStandings(harness, freshOwner())

      assert.equal(await store.sweep(1000), 1)
      assert.equal(await store.find(expired), undefined)
      for (const id of [abandoned.id, ...Object.values(kept)]) await expectFound(store, id)
    },
  },
  {
    name: 'sweeps no more than it is told',
    async check(harness) {
      const { store, advance } = harness
      await sweepOthers(harness)
      for (const request of sampleRequests(5, {})) await takeAndFinish(store, request)
      await advance(EXPIRY_MS)

      const swept = [await store.sweep(2), await store.sweep(2), await store.sweep(2)]
      assert.deepEqual([...swept, await store.sweep(2)], [2, 2, 1, 0])
    },
  },
  {
    name: 'counts each record once when two sweeps run at the same time',
    async check(harness) {
      const { store, peer, advance } = harness
      await sweepOthers(harness)
      const made = sampleRequests(20, {})
      await Promise.all(made.map((request) => takeAndFinish(store, request)))
      await advance(EXPIRY_MS)
      const swept = await Promise.all([store.sweep(100), peer.sweep(100), store.sweep(100)])
      const rest = await store.sweep(100)

      assert.equal(
        [...swept, rest].reduce((sum, count) => sum + count),
        20,
      )
      for (const { id } of made) assert.equal(await store.find(id), undefined)
    },
  },
  {
    name: 'frees the key of a swept record',
    async check(harness) {
      const { store } = harness
      const request = sampleRequest()
      await takeAndFinish(store, request)
      await sweepOthers(harness)
      const granted = await take(store, rivalOf(request))

      assert.equal(granted.outcome, 'execute')
      assert.equal(granted.abandoned, false)
    },
  },
]

const statsChecks: readonly StoreCheck[] = [
  {
    name: 'counts running, suspended and unknown records',
    async check(harness) {
      await arrangeStandings(harness, freshOwner())
      const { running, suspended, unknown } = await harness.store.stats()

      assert.ok(running > 0 && suspended > 0 && unknown > 0)
      const counted = await countStandings(harness)
      assert.deepEqual({ running, suspended, unknown }, counted)
    },
  },
  {
    name: 'counts a record elsewhere as soon as it moves',
    async check({ store, peer }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const before = await store.stats()
      const { claim } = await take(store, request)
      const running = await peer.stats()
      await store.release(claim, 'suspend')
      const suspended = await peer.stats()
      await takeAndFinish(store, rivalOf(request))

      assert.deepEqual({ ...running }, { ...before, running: before.running + 1 })
      assert.deepEqual({ ...suspended }, { ...before, suspended: before.suspended + 1 })
      assert.deepEqual({ ...(await peer.stats()) }, { ...before })
    },
  },
]

const readyChecks: readonly StoreCheck[] = [
  {
    name: 'is ready again and again, also when asked many times at once',
    async check({ store, peer }) {
      await Promise.all(Array.from({ length: 5 }, () => [store.ready(), peer.ready()]).flat())
      const request = sampleRequest()
      await takeAndFinish(store, request)
      await store.ready()

      assert.equal((await peer.claim(rivalOf(request))).outcome, 'replay')
    },
  },
  {
    name: 'does not mix operations that run at the same time',
    async check({ store, advance }) {
      const made = sampleRequests(50, { recoveryPoint: 'started' })
      const lives = made.map(async (request, index) => {
        const { claim } = await take(store, request)
        assert.equal(claim.id, request.id)
        assert.equal(await store.advance(claim, stepTo(`step ${index}`, bytes(`${index}`))), true)
        const response = sampleResponse(`answer ${index}`)
        assert.equal(await store.finish(claim, sampleFinish({ response })), true)
      })
      await Promise.all(lives)
      await advance(LAPSE_MS)
      const replays = await Promise.all(made.map((request) => store.claim(rivalOf(request))))

      const expected = made.map((_, index) => `answer ${index}`)
      assert.deepEqual(
        replays.map((replay) =>
          replay.outcome === 'replay' ? Buffer.from(replay.response.sealed).toString() : replay,
        ),
        expected,
      )
    },
  },
]

/** What operators and workers rely on. */
export const operatorChecks: readonly StoreCheck[] = [
  ...sweepChecks,
  ...statsChecks,
  ...readyChecks,
]
