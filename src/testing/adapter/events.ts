/**
 * Checks what listeners are told: one outcome for each request, whatever became of it.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { EventType } from '../../engine/events.ts'
import type { AdapterCheck } from './harness.ts'
import { type Ask, Gate, inOneWorld, inWorld, type World } from './world.ts'

const OUTCOMES: readonly EventType[] = [
  ...(['executed', 'resumed', 'replayed', 'in_progress', 'mismatch', 'unknown'] as const),
  ...(['over_quota', 'failed', 'rejected', 'bypassed'] as const),
]

/** How often each outcome was told. */
function outcomesOf({ events }: World): Partial<Record<EventType, number>> {
  const counts: Partial<Record<EventType, number>> = {}
  for (const { type } of events) {
    if (OUTCOMES.includes(type)) counts[type] = (counts[type] ?? 0) + 1
  }
  return counts
}

/** Requests that come to no run, and why. */
const REJECTED: readonly (readonly [ask: Ask, code: string])[] = [
  [{ key: null }, 'idempotency-key-missing'],
  [{ key: 'null' }, 'idempotency-key-invalid'],
  [{ body: '{"a":1,"a":2}' }, 'idempotency-body-invalid'],
  [{ body: `"${'x'.repeat(2000)}"` }, 'idempotency-body-too-large'],
]

/** What listeners are told. */
export const eventChecks: readonly AdapterCheck[] = [
  {
    name: 'tells of each request that is rejected, and why',
    check: inOneWorld(
      // Read by the adapter itself: what a parser makes of a body is another matter.
      { options: { required: true, fingerprint: { bodyBytesMax: 1000 } }, parser: 'none' },
      async (world) => {
        for (const [ask] of REJECTED) assert.ok((await world.ask(ask)).status >= 400)
        assert.deepEqual(outcomesOf(world), { rejected: REJECTED.length })
        assert.deepEqual(
          world.events.map(({ code }) => code),
          REJECTED.map(([, code]) => code),
        )
        for (const { id, operation } of world.events) {
          assert.equal(id, null)
          assert.match(operation, /items/)
        }
        assert.equal(world.runs, 0)
      },
    ),
  },
  {
    name: 'tells of each request that runs unprotected',
    check: inOneWorld({}, async (world) => {
      await world.ask({ key: null })
      for (const method of ['GET', 'PUT']) await world.ask({ method, body: '' })
      assert.deepEqual(outcomesOf(world), { bypassed: 3 })
      for (const { id, operation } of world.events) {
        assert.equal(id, null)
        assert.match(operation, /items/)
      }
    }),
  },
  {
    name: 'tells one outcome of each request, so that sums are right',
    async check(harness) {
      const gate = new Gate()
      const deed = async () => {
        await gate.opened
        return { status: 200, how: 'send', body: 'done' } as const
      }
      await inWorld(harness, { deed }, async (world) => {
        const first = world.ask()
        await world.begun()
        const waiting = Array.from({ length: 5 }, () =>
          world.ask({ headers: [['Prefer', 'wait=10']] }),
        )
        await world.settle()
        for (let count = 0; count < 2; count++) assert.equal((await world.ask()).status, 409)
        assert.equal((await world.ask({ body: '{"amount":1}' })).status, 422)
        gate.open()
        await Promise.all([first, ...waiting])
        await world.replay()
        await world.ask({ key: null })
        assert.deepEqual(outcomesOf(world), {
          ...{ executed: 1, replayed: 6, in_progress: 2, mismatch: 1 },
          ...{ rejected: 3, bypassed: 1 },
        })
      })
    },
  },
]
