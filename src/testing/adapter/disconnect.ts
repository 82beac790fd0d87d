/**
 * Checks that a client who goes away cancels nothing.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { Store } from '../../engine/store.ts'
import { memoryStore } from '../../stores/memory/store.ts'
import type { AdapterCheck, Deed } from './harness.ts'
import { bytesOf, Sending } from './raw-client.ts'
import { created, Gate, inWorld, patient, type WorldSpec } from './world.ts'

const PATIENT: WorldSpec['options'] = { waitMs: 10_000 }

/** A memory store whose `finish` waits at a gate. */
function gatedFinish(asked: Gate, gate: Gate): Store<unknown> {
  return new Proxy<Store<unknown>>(memoryStore(), {
    get(store, name) {
      if (name === 'finish') {
        const finish: Store['finish'] = async (claim, answer) => {
          asked.open()
          await gate.opened
          return store.finish(claim, answer)
        }
        return finish
      }
      const member: unknown = Reflect.get(store, name)
      return typeof member === 'function' ? member.bind(store) : member
    },
  })
}

/** A handler that waits at a gate. */
function gated(gate: Gate): Pick<WorldSpec, 'deed'> {
  return {
    async deed(request, run): Promise<Deed> {
      await gate.opened
      return created(request, run)
    },
  }
}

/** Clients that go away. */
export const disconnectChecks: readonly AdapterCheck[] = [
  {
    name: 'hole 10: goes on when the client goes away during the handler, and replays',
    check: (harness) => {
      const gate = new Gate()
      return inWorld(harness, { ...gated(gate), options: PATIENT }, async (world) => {
        const first = world.open()
        await world.begun()
        await first.cut()
        const again = world.ask()
        await world.settle()
        gate.open()
        assert.equal((await again).header('idempotent-replayed'), 'true')
        assert.equal(world.runs, 1)
      })
    },
  },
  {
    name: 'hole 10: goes on when the client goes away while the answer is stored, and replays',
    check: (harness) => {
      const [asked, gate] = [new Gate(), new Gate()]
      const spec = { store: gatedFinish(asked, gate), options: PATIENT }
      return inWorld(harness, spec, async (world) => {
        const first = world.open()
        await patient(asked.opened, 'the call to store the answer')
        await first.cut()
        const again = world.ask()
        await world.settle()
        gate.open()
        assert.equal((await again).header('idempotent-replayed'), 'true')
        assert.equal(world.runs, 1)
      })
    },
  },
  {
    name: 'sends nothing before the answer is stored',
    check: (harness) => {
      const [asked, gate] = [new Gate(), new Gate()]
      return inWorld(harness, { store: gatedFinish(asked, gate) }, async (world) => {
        const first = world.open()
        await patient(asked.opened, 'the call to store the answer')
        await world.settle()
        assert.equal(first.isAnswered, false)
        gate.open()
        assert.equal((await patient(first.answer, 'the answer')).status, 201)
      })
    },
  },
  {
    name: 'leaves the first request alone when a duplicate that waits goes away',
    check: (harness) => {
      const gate = new Gate()
      return inWorld(harness, { ...gated(gate), options: PATIENT }, async (world) => {
        const first = world.ask()
        await world.begun()
        const second = world.open()
        await world.settle()
        await second.cut()
        await world.settle()
        gate.open()
        assert.equal((await first).json['run'], 1)
        await world.replay()
      })
    },
  },
  {
    name: 'runs nothing for a request whose body is not there yet, and leaves the key free',
    check: (harness) =>
      inWorld(harness, {}, async (world) => {
        const headers = [
          ...[
            ['Idempotency-Key', 'key-1'],
            ['X-Caller', 'acct_1'],
          ],
          ...[
            ['Content-Type', 'application/json'],
            ['Content-Length', '14'],
          ],
        ] as const
        const half = { method: 'POST', path: '/items/1', headers, body: '{"amou' }
        const cut = new Sending(world.served.port, bytesOf(half))
        await world.settle()
        assert.equal((await world.ask()).json['run'], 1)
        await cut.cut()
        await world.settle()
        await world.replay()
      }),
  },
]
