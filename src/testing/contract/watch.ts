/**
 * Checks of `watch`, for stores that have it.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { systemClock } from '../../engine/clock.ts'
import type { Claim, Store, Unwatch } from '../../engine/store.ts'
import type { StoreCheck, StoreHarness } from '../harness.ts'
import { sampleFinish, sampleRequest, take } from './sample.ts'

/** Long enough for any notice to arrive on a busy machine. */
const WAKES_WITHIN_MS = 10_000

/** A watcher that waits. */
export interface Watching {
  /** Resolves with the next waking. */
  readonly woken: Promise<void>
  readonly unwatch: Unwatch
}

/** Watches the record; the waiting fails when no waking comes within the deadline. */
export async function startWatching(
  { store, wakesWithinMs = WAKES_WITHIN_MS }: Pick<StoreHarness, 'store' | 'wakesWithinMs'>,
  id: string,
): Promise<Watching> {
  const { promise, resolve, reject } = deferred()
  const overdue = new assert.AssertionError({ message: 'The watcher sleeps on.' })
  const cancel = systemClock.after(wakesWithinMs, () => reject(overdue))
  const unwatch = await store.watch?.(id, resolve)
  assert.ok(unwatch !== undefined, 'The store can watch.')
  const woken = promise.finally(cancel)
  // It may fail before anybody waits for it.
  woken.catch(() => {})
  return { woken, unwatch }
}

function deferred(): { promise: Promise<void>; resolve(): void; reject(error: Error): void } {
  let resolve = () => {}
  let reject = (_: Error) => {}
  const promise = new Promise<void>((fulfil, fail) => {
    resolve = fulfil
    reject = fail
  })
  return { promise, resolve, reject }
}

const CHANGES: readonly {
  readonly name: string
  change(store: Store<unknown>, claim: Claim): Promise<boolean>
}[] = [
  { name: 'finished', change: (store, claim) => store.finish(claim, sampleFinish()) },
  { name: 'forgotten', change: (store, claim) => store.release(claim, 'forget') },
  { name: 'suspended', change: (store, claim) => store.release(claim, 'suspend') },
]

const SEATS: readonly {
  readonly name: string
  seat(harness: StoreHarness): Store<unknown> | undefined
}[] = [
  { name: 'in the same store', seat: ({ store }) => store },
  {
    name: 'through the peer',
    seat: ({ peer, wakesPeer }) => (wakesPeer === false ? undefined : peer),
  },
]

/** Who watches is woken. */
export const watchChecks: readonly StoreCheck[] = [
  ...SEATS.flatMap(({ name: where, seat }) =>
    CHANGES.map(
      ({ name, change }): StoreCheck => ({
        name: `wakes who watches ${where} when the record is ${name}`,
        async check(harness) {
          const watcher = seat(harness)
          if (watcher?.watch === undefined) return
          const { claim } = await take(harness.store, sampleRequest())
          const seated = { ...harness, store: watcher }
          const { woken, unwatch } = await startWatching(seated, claim.id)

          assert.equal(await change(harness.store, claim), true)
          await woken
          unwatch()
        },
      }),
    ),
  ),
  {
    name: 'wakes everybody who watches, and nobody who stopped',
    async check(harness) {
      const { store } = harness
      if (store.watch === undefined) return
      const { claim } = await take(store, sampleRequest())
      let calls = 0
      const stop = await store.watch(claim.id, () => calls++)
      const [one, other] = [
        await startWatching(harness, claim.id),
        await startWatching(harness, claim.id),
      ]
      stop()
      stop()
      await store.finish(claim, sampleFinish())
      await Promise.all([one.woken, other.woken])

      assert.equal(calls, 0)
      one.unwatch()
      other.unwatch()
    },
  },
  {
    name: 'watches each record on its own',
    async check(harness) {
      const { store } = harness
      if (store.watch === undefined) return
      const [one, other] = [await take(store, sampleRequest()), await take(store, sampleRequest())]
      const watchingOne = await startWatching(harness, one.claim.id)
      const watchingOther = await startWatching(harness, other.claim.id)
      await store.finish(one.claim, sampleFinish())
      await watchingOne.woken
      watchingOne.unwatch()
      await store.finish(other.claim, sampleFinish())

      await watchingOther.woken
      watchingOther.unwatch()
    },
  },
]
