/**
 * Checks that a request takes effect once and that its repetitions get the first answer.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { AdapterCheck } from './harness.ts'
import { Gate, inOneWorld } from './world.ts'

/** One effect, one answer. */
export const onceChecks: readonly AdapterCheck[] = [
  {
    name: 'runs the handler once and gives the repetition the same status and body',
    check: inOneWorld({}, async (world) => {
      const first = await world.ask()
      assert.equal(first.status, 201)
      assert.deepEqual(first.json, { id: 'it_1', run: 1 })
      assert.equal(first.header('idempotent-replayed'), undefined)

      const again = await world.replay()
      assert.equal(again.status, 201)
      assert.deepEqual(again.body, first.body)
      assert.equal(again.header('content-type'), first.header('content-type'))
    }),
  },
  {
    name: 'runs a request without a key each time, unmarked',
    check: inOneWorld({}, async (world) => {
      for (const run of [1, 2]) {
        const answer = await world.ask({ key: null })
        assert.equal(answer.json['run'], run)
        assert.equal(answer.header('idempotency-key'), undefined)
        assert.equal(answer.header('idempotency-stored'), undefined)
      }
    }),
  },
  {
    name: 'hole 5: runs once for 25 duplicates at the same time',
    check: async (harness) => {
      const gate = new Gate()
      const spec = {
        deed: async () => {
          await gate.opened
          return { status: 200, how: 'send', body: 'done' } as const
        },
        options: { waitMs: 10_000 },
      }
      await inOneWorld(spec, async (world) => {
        const first = world.ask()
        await world.begun()
        const others = Array.from({ length: 24 }, () => world.ask())
        await world.settle()
        gate.open()
        const answers = await Promise.all([first, ...others])
        assert.deepEqual([...new Set(answers.map(({ text }) => text))], ['done'])
        const replays = answers.filter((answer) => answer.header('idempotent-replayed') === 'true')
        assert.equal(replays.length, 24)
        assert.equal(world.runs, 1)
      })(harness)
    },
  },
  {
    name: 'hole 13: keeps twenty requests at the same time apart',
    check: inOneWorld(
      { deed: async ({ id }) => ({ status: 200, how: 'send', body: `item ${id}` }) },
      async (world) => {
        const asks = Array.from({ length: 20 }, (_, n) => ({
          key: `key-${n}`,
          path: `/items/${n}`,
        }))
        const ask = async () =>
          (await Promise.all(asks.map((one) => world.ask(one)))).map(({ text }) => text)
        const expected = asks.map((_, n) => `item ${n}`)
        assert.deepEqual(await ask(), expected)
        assert.deepEqual(await ask(), expected)
        assert.equal(world.runs, 20)
      },
    ),
  },
  {
    name: 'hole 15: runs the same body under two keys twice',
    check: inOneWorld({}, async (world) => {
      assert.equal((await world.ask({ key: 'key-1' })).json['run'], 1)
      assert.equal((await world.ask({ key: 'key-2' })).json['run'], 2)
    }),
  },
  {
    name: 'hole 14: keeps the same key of another caller apart',
    check: inOneWorld({}, async (world) => {
      assert.equal((await world.ask({ caller: 'acct_1' })).json['run'], 1)
      const other = await world.ask({ caller: 'acct_2' })
      assert.equal(other.json['run'], 2)
      assert.equal(other.header('idempotent-replayed'), undefined)
    }),
  },
  {
    name: 'hole 14: keeps the same key on another route apart',
    check: inOneWorld({}, async (world) => {
      assert.equal((await world.ask({ path: '/items/1' })).json['run'], 1)
      assert.equal((await world.ask({ path: '/others/1' })).json['run'], 2)
    }),
  },
  {
    name: 'hole 14: keeps the same key with another method apart',
    check: inOneWorld({}, async (world) => {
      assert.equal((await world.ask({ method: 'POST' })).json['run'], 1)
      assert.equal((await world.ask({ method: 'PATCH' })).json['run'], 2)
    }),
  },
  {
    name: 'ignores the key of a GET and of a HEAD',
    check: inOneWorld({}, async (world) => {
      for (const run of [1, 2]) {
        const answer = await world.ask({ method: 'GET', body: '' })
        assert.equal(answer.json['run'], run)
        assert.equal(answer.header('idempotency-key'), undefined)
      }
      const head = await world.ask({ method: 'HEAD', body: '' })
      assert.equal(head.status, 201)
      assert.equal(head.body.byteLength, 0)
      assert.equal(head.header('idempotency-key'), undefined)
      assert.equal(world.runs, 3)
    }),
  },
  {
    name: 'leaves PUT and DELETE alone until they are named',
    check: inOneWorld({}, async (world) => {
      for (const method of ['PUT', 'DELETE', 'PUT', 'DELETE']) {
        assert.equal((await world.ask({ method })).header('idempotency-key'), undefined)
      }
      assert.equal(world.runs, 4)
    }),
  },
  {
    name: 'protects PUT and DELETE when they are named',
    check: inOneWorld({ options: { methods: ['put', 'DELETE'] } }, async (world) => {
      for (const method of ['PUT', 'DELETE']) {
        await world.ask({ method })
        await world.replay({ method })
      }
      assert.equal(world.runs, 2)
    }),
  },
]
