/**
 * Checks that a run which lost its claim, a zombie, can not write any more, by whatever verb.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { Claim, Store } from '../../engine/store.ts'
import type { StoreCheck, StoreHarness } from '../harness.ts'
import {
  bytes,
  EXPIRY_MS,
  freshOwner,
  impostorOf,
  LAPSE_MS,
  rivalOf,
  sampleFinish,
  sampleRequest,
  sampleResponse,
  snapshot,
  stepTo,
  take,
  takeAndFinish,
} from './sample.ts'

interface Verb {
  readonly name: string
  run(store: Store<unknown>, claim: Claim): Promise<boolean>
}

const FINISH: Verb = {
  name: 'finish',
  run: (store, claim) =>
    store.finish(claim, sampleFinish({ response: sampleResponse('from the zombie') })),
}

const VERBS: readonly Verb[] = [
  { name: 'renew', run: (store, claim) => store.renew(claim, EXPIRY_MS) },
  {
    name: 'advance',
    run: (store, claim) => store.advance(claim, stepTo('zombie', bytes('zombie'))),
  },
  FINISH,
  { name: 'forget', run: (store, claim) => store.release(claim, 'forget') },
  { name: 'suspend', run: (store, claim) => store.release(claim, 'suspend') },
]

interface Loss {
  readonly name: string
  /** Takes a claim, loses it, and gives what the zombie still holds. */
  lose(harness: StoreHarness): Promise<Claim>
}

const LOSSES: readonly Loss[] = [
  {
    name: 'whose lease was taken over',
    async lose({ store, peer, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await advance(LAPSE_MS)
      await take(peer, rivalOf(request))
      return claim
    },
  },
  {
    name: 'with its own older fence',
    async lose({ store }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await store.release(claim, 'suspend')
      await take(store, request)
      return claim
    },
  },
  {
    name: 'with a fence that was never granted',
    async lose({ store }) {
      const { claim } = await take(store, sampleRequest({ recoveryPoint: 'started' }))
      return { ...claim, fence: 2 }
    },
  },
  {
    name: 'from before the key was forgotten and claimed afresh',
    async lose({ store, peer }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await store.release(claim, 'forget')
      await take(peer, impostorOf(request))
      return claim
    },
  },
  {
    name: 'whose record expired and was replaced',
    async lose({ store, peer, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await advance(EXPIRY_MS)
      await take(peer, impostorOf(request))
      return claim
    },
  },
  {
    name: 'that suspended the record itself',
    async lose({ store }) {
      const { claim } = await take(store, sampleRequest({ recoveryPoint: 'started' }))
      await store.release(claim, 'suspend')
      return claim
    },
  },
  {
    name: 'when another run finished the record',
    async lose({ store, peer, advance }) {
      const request = sampleRequest({ recoveryPoint: 'started' })
      const { claim } = await take(store, request)
      await advance(LAPSE_MS)
      await takeAndFinish(peer, rivalOf(request))
      return claim
    },
  },
]

function refusal(verb: Verb, { name, lose }: Loss): StoreCheck {
  return {
    name: `refuses to ${verb.name} for a run ${name}`,
    async check(harness) {
      const claim = await lose(harness)
      const before = await snapshot(harness.store, claim.id)

      assert.equal(await verb.run(harness.store, claim), false)
      assert.deepEqual(await snapshot(harness.store, claim.id), before)
    },
  }
}

const FINISHED_BY_ITSELF: Loss = {
  name: 'that finished the record itself',
  lose: ({ store }) => takeAndFinish(store, sampleRequest()),
}

/** Who lost its claim can not write any more. */
export const fenceChecks: readonly StoreCheck[] = [
  ...LOSSES.flatMap((loss) => VERBS.map((verb) => refusal(verb, loss))),
  // Only its repeated finish is no conflict: the checks of finish have that.
  ...VERBS.filter((verb) => verb !== FINISH).map((verb) => refusal(verb, FINISHED_BY_ITSELF)),
  ...VERBS.map(
    (verb): StoreCheck => ({
      name: `refuses to ${verb.name} where there is no record`,
      async check({ store }) {
        const { id } = sampleRequest()

        assert.equal(await verb.run(store, { id, owner: freshOwner(), fence: 1 }), false)
        assert.equal(await store.find(id), undefined)
      },
    }),
  ),
]
