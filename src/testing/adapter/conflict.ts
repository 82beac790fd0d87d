/**
 * Checks what a request is told whose key is in use or stands for another request.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { AdapterCheck, Deed } from './harness.ts'
import { type Ask, assertProblem, Gate, inWorld, type World, type WorldSpec } from './world.ts'

/** Has a run wait at a gate for the time of `check`. */
async function whileRunning(
  harness: Parameters<AdapterCheck['check']>[0],
  options: WorldSpec['options'],
  check: (world: World, gate: Gate) => Promise<void>,
): Promise<void> {
  const gate = new Gate()
  const deed = async (): Promise<Deed> => {
    await gate.opened
    return { status: 200, how: 'send', body: 'done' }
  }
  await inWorld(harness, { deed, options: options ?? {} }, async (world) => {
    const first = world.ask()
    await world.begun()
    await check(world, gate)
    gate.open()
    assert.equal((await first).text, 'done')
    assert.equal((await world.replay()).text, 'done')
    assert.equal(world.runs, 1)
  })
}

/** Requests that are not the same as the one that the key stands for. */
const OTHERS: readonly (readonly [name: string, ask: Ask])[] = [
  ['body', { body: '{"amount":101}' }],
  ['path', { path: '/items/2' }],
  ['query', { path: '/items/1?expand=all' }],
  ['content type', { type: 'text/plain' }],
]

/** Keys in use, and keys of other requests. */
export const conflictChecks: readonly AdapterCheck[] = [
  {
    name: 'answers 409 with Retry-After while the first request runs; hole 2: and does not store it',
    check: (harness) =>
      whileRunning(harness, {}, async (world) => {
        const answer = await world.ask()
        assertProblem(answer, 409, 'idempotency-in-progress')
        assert.equal(answer.json['retryable'], true)
        assert.ok(Number(answer.header('retry-after')) >= 1)
        assert.ok(Number(answer.header('retry-after')) < 30, 'not the whole lease')
        assert.equal(answer.header('idempotency-key'), 'key-1')
      }),
  },
  {
    name: 'answers 429 with Retry-After when the key is one too many for the quota, and runs nothing',
    check: (harness) =>
      inWorld(harness, { options: { quota: { keys: 1, perMs: 60_000 } } }, async (world) => {
        assert.ok((await world.ask()).status < 300)
        const answer = await world.ask({ key: 'key-2' })
        assertProblem(answer, 429, 'idempotency-quota-exceeded')
        assert.equal(answer.json['retryable'], true)
        const seconds = Number(answer.header('retry-after'))
        assert.ok(seconds >= 1 && seconds <= 60, `Retry-After is ${seconds}`)
        assert.equal(answer.header('idempotency-key'), 'key-2')
        assert.equal(answer.header('idempotency-stored'), 'false')
        await world.replay()
        assert.equal(world.runs, 1)
      }),
  },
  {
    name: 'waits for the first request where the route says so',
    check: (harness) =>
      whileRunning(harness, { waitMs: 10_000 }, async (world, gate) => {
        const second = world.ask()
        await world.settle()
        gate.open()
        assert.equal((await second).header('idempotent-replayed'), 'true')
      }),
  },
  {
    name: 'hole 11: leaves the first request alone when the wait is over',
    check: (harness) =>
      whileRunning(harness, { waitMs: 30 }, async (world) => {
        assertProblem(await world.ask(), 409, 'idempotency-in-progress')
      }),
  },
  {
    name: 'waits as long as Prefer: wait asks',
    check: (harness) =>
      whileRunning(harness, {}, async (world, gate) => {
        const second = world.ask({ headers: [['Prefer', 'respond-async, wait=10']] })
        await world.settle()
        gate.open()
        assert.equal((await second).header('idempotent-replayed'), 'true')
      }),
  },
  {
    name: 'bounds Prefer: wait',
    check: (harness) =>
      whileRunning(harness, { preferWaitMsMax: 30 }, async (world) => {
        const answer = await world.ask({ headers: [['Prefer', 'wait=600']] })
        assertProblem(answer, 409, 'idempotency-in-progress')
      }),
  },
  {
    name: 'answers 422, not 409, to another body while the first request runs',
    check: (harness) =>
      whileRunning(harness, {}, async (world) => {
        assertProblem(await world.ask({ body: '{"amount":1}' }), 422, 'idempotency-key-reused')
      }),
  },
  ...OTHERS.map(
    ([name, other]): AdapterCheck => ({
      name: `hole 1: answers 422 to another ${name} and keeps the first answer`,
      check: (harness) =>
        inWorld(harness, {}, async (world) => {
          const first = await world.ask()
          const answer = await world.ask(other)
          assertProblem(answer, 422, 'idempotency-key-reused')
          assert.equal(answer.header('idempotency-key'), 'key-1')
          assert.equal(answer.header('idempotent-replayed'), undefined)
          assert.deepEqual((await world.replay()).body, first.body)
          assert.equal(world.runs, 1)
        }),
    }),
  ),
  {
    name: 'hole 21: takes the same JSON in another order and spacing for the same request',
    check: (harness) =>
      inWorld(harness, {}, async (world) => {
        await world.ask({ body: '{"amount":100,"currency":"eur"}' })
        await world.replay({ body: ' { "currency" : "eur",\n"amount" : 100 } ' })
      }),
  },
]
