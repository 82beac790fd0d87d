/**
 * Checks what a request is told when the store fails or hangs.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { Store } from '../../engine/store.ts'
import { memoryStore } from '../../stores/memory/store.ts'
import type { AdapterCheck } from './harness.ts'
import {
  assertProblem,
  assertUnkept,
  inOneWorld,
  inWorld,
  type World,
  type WorldSpec,
} from './world.ts'

type Fault = 'fails' | 'hangs'
type Verb = 'claim' | 'finish' | 'release'

/** A memory store with one verb that goes wrong until it is mended. */
class BrokenStore {
  readonly store: Store<unknown>
  #isBroken = true

  constructor(verb: Verb, fault: Fault) {
    const failing = () =>
      fault === 'hangs' ? new Promise(() => {}) : Promise.reject(new Error('The store is down.'))
    this.store = new Proxy<Store<unknown>>(memoryStore(), {
      get: (store, name) => {
        if (name === verb && this.#isBroken) return failing
        const member: unknown = Reflect.get(store, name)
        return typeof member === 'function' ? member.bind(store) : member
      },
    })
  }

  mend(): void {
    this.#isBroken = false
  }
}

const STORE_TIMEOUT_MS = 200

async function whileBroken(
  harness: Parameters<AdapterCheck['check']>[0],
  { verb, fault, ...spec }: WorldSpec & { verb: Verb; fault: Fault },
  check: (world: World, broken: BrokenStore) => Promise<void>,
): Promise<void> {
  const broken = new BrokenStore(verb, fault)
  const options = { ...spec.options, storeTimeoutMs: STORE_TIMEOUT_MS }
  await inWorld(harness, { ...spec, options, store: broken.store }, (world) => check(world, broken))
}

const FAULTS: readonly Fault[] = ['fails', 'hangs']

/** Stores that fail. */
export const faultChecks: readonly AdapterCheck[] = [
  ...FAULTS.flatMap((fault): AdapterCheck[] => [
    {
      name: `hole 3: answers 503 with Retry-After and runs nothing when the store ${fault}`,
      check: (harness) =>
        whileBroken(harness, { verb: 'claim', fault }, async (world, broken) => {
          const answer = await world.ask()
          assertProblem(answer, 503, 'idempotency-store-unavailable')
          assert.equal(answer.json['retryable'], true)
          assert.ok(Number(answer.header('retry-after')) >= 1)
          assert.equal(answer.header('idempotency-key'), 'key-1')
          assert.equal(world.runs, 0)

          broken.mend()
          assert.equal((await world.ask()).json['run'], 1)
          await world.replay()
        }),
    },
    {
      name: `runs unprotected and says so when the store ${fault} and the route lets through`,
      check: (harness) => {
        const options = { failOpen: true }
        return whileBroken(harness, { verb: 'claim', fault, options }, async (world) => {
          for (const run of [1, 2]) {
            const answer = await world.ask()
            assert.equal(answer.json['run'], run)
            assert.equal(answer.header('idempotency-degraded'), 'true')
            assert.equal(answer.header('idempotency-expires'), undefined)
            assertUnkept(answer)
          }
          assert.equal(world.events.filter(({ type }) => type === 'bypassed').length, 2)
        })
      },
    },
    {
      name: `hole 3: gives the real answer, marked, when the store ${fault} at the end`,
      check: (harness) =>
        whileBroken(harness, { verb: 'finish', fault }, async (world) => {
          const answer = await world.ask()
          assert.equal(answer.status, 201)
          assert.deepEqual(answer.json, { id: 'it_1', run: 1 })
          assertUnkept(answer)
          assert.equal(answer.header('idempotency-expires'), undefined)

          const again = await world.ask()
          assertProblem(again, 409, 'idempotency-in-progress')
          assert.equal(world.runs, 1)
        }),
    },
  ]),
  {
    name: 'gives an error that is not kept also when the store can not free the key',
    check: (harness) => {
      const deed = async () => ({ status: 400, how: 'send', body: 'bad' }) as const
      return whileBroken(harness, { verb: 'release', fault: 'fails', deed }, async (world) => {
        const answer = await world.ask()
        assert.equal(answer.status, 400)
        assert.equal(answer.text, 'bad')
        assertUnkept(answer)
      })
    },
  },
  {
    name: 'answers 503 while the server shuts down, and runs nothing',
    check: inOneWorld({}, async (world) => {
      await world.ask()
      await world.reprise.close()
      assertProblem(await world.ask({ key: 'key-2' }), 503, 'idempotency-shutting-down')
      assert.equal(world.runs, 1)
    }),
  },
]
