/**
 * Checks where keys are found and which are refused.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { keyAge } from '../../engine/key-age.ts'
import type { AdapterCheck } from './harness.ts'
import { type Ask, assertProblem, inOneWorld, inWorld } from './world.ts'

const FORM = 'application/x-www-form-urlencoded'

/** Keys that are none, as the lines of the header. */
const BAD_KEYS: readonly (readonly [name: string, lines: readonly string[]])[] = [
  ['an empty header', ['']],
  ['an empty string', ['""']],
  ['a key that is too long', ['k'.repeat(256)]],
  ['two lines, even of the same key', ['key-1', 'key-1']],
  ['two keys in one line', ['key-1, key-2']],
  ['a string in quotes that goes on in a second line', ['"key-1', 'key-2"']],
  ['a parameter that goes on in a second line', ['"key-1";a="b', 'c"']],
  ['the text undefined', ['undefined']],
  ['the text null', ['null']],
  ['a character outside ASCII', ['schl\u00fcssel']],
  ['an open quote', ['"key-1']],
]

function keyLines(lines: readonly string[]): Ask {
  return { key: null, headers: lines.map((line) => ['Idempotency-Key', line] as const) }
}

/** A UUIDv7 made at an instant. */
function uuidAt(unix: number): string {
  const time = unix.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000001`
}

/** The instant that ages of keys are judged at. */
const NOW = 1_800_000_000_000

/** Keys, good and bad. */
export const keyChecks: readonly AdapterCheck[] = [
  {
    name: 'refuses a request without a key where one is required',
    check: inOneWorld({ options: { required: true } }, async (world) => {
      assertProblem(await world.ask({ key: null }), 400, 'idempotency-key-missing')
      assert.equal(world.runs, 0)
    }),
  },
  ...BAD_KEYS.map(
    ([name, lines]): AdapterCheck => ({
      name: `refuses ${name}`,
      check: inOneWorld({}, async (world) => {
        const answer = await world.ask(keyLines(lines))
        assertProblem(answer, 400, 'idempotency-key-invalid')
        assert.equal(answer.header('idempotency-key'), undefined)
        assert.equal(world.runs, 0)
      }),
    }),
  ),
  {
    name: 'takes a key in quotes and the bare one for the same, and echoes it',
    check: inOneWorld({}, async (world) => {
      const first = await world.ask({ key: '"key-1"' })
      assert.equal(first.header('idempotency-key'), 'key-1')
      assert.equal((await world.replay({ key: 'key-1' })).header('idempotency-key'), 'key-1')
    }),
  },
  {
    name: 'finds the key in the hidden field of a form: a double submit has one effect',
    check: inOneWorld({ options: { required: true } }, async (world) => {
      const form = { key: null, type: FORM, body: 'idempotency_key=k-1&amount=100' }
      assert.equal((await world.ask(form)).header('idempotency-key'), 'k-1')
      await world.replay(form)
      const other = { ...form, body: 'idempotency_key=k-1&amount=101' }
      assertProblem(await world.ask(other), 422, 'idempotency-key-reused')
    }),
  },
  {
    name: 'prefers the header to the hidden field, and does not compare the field',
    check: inOneWorld({}, async (world) => {
      const first = await world.ask({ type: FORM, body: 'idempotency_key=k-1&amount=100' })
      assert.equal(first.header('idempotency-key'), 'key-1')
      await world.replay({ type: FORM, body: 'amount=100&idempotency_key=k-2' })
    }),
  },
  {
    name: 'finds the key in a member of the body',
    check: inOneWorld({ options: { key: { field: 'id' } } }, async (world) => {
      const event = { key: null, body: '{"id":"evt_1","type":"paid"}' }
      assert.equal((await world.ask(event)).header('idempotency-key'), 'evt_1')
      await world.replay(event)
      await world.ask({ key: null, body: '{"id":"evt_2","type":"paid"}' })
      assert.equal(world.runs, 2)
      const unusable = await world.ask({ key: null, body: '{"id":["evt_3"]}' })
      assertProblem(unusable, 400, 'idempotency-key-invalid')
    }),
  },
  {
    name: 'finds the key in a field of the query',
    check: inOneWorld({ options: { key: { query: 'key' } } }, async (world) => {
      const ask = { key: null, path: '/items/1?key=q%201&a=b' }
      assert.equal((await world.ask(ask)).header('idempotency-key'), '"q 1"')
      await world.replay(ask)
      const twice = { key: null, path: '/items/1?key=a&key=b' }
      assertProblem(await world.ask(twice), 400, 'idempotency-key-invalid')
    }),
  },
  {
    name: 'finds the key in another header',
    check: inOneWorld({ options: { key: { header: 'Svix-Id' } } }, async (world) => {
      const ask: Ask = { key: null, headers: [['svix-id', 'msg_1']] }
      await world.ask(ask)
      await world.replay(ask)
    }),
  },
  {
    name: 'has a function find the key',
    check: (harness) => {
      const key = async (request: unknown) => harness.header(request, 'x-delivery')
      return inWorld(harness, { options: { key } }, async (world) => {
        const ask: Ask = { key: null, headers: [['X-Delivery', 'd "1"']] }
        assert.equal((await world.ask(ask)).header('idempotency-key'), '"d \\"1\\""')
        await world.replay(ask)
        assert.equal((await world.ask({ key: null })).header('idempotency-key'), undefined)
      })
    },
  },
  {
    name: 'refuses a time-based key that is too old, instead of running it again',
    check: inOneWorld(
      { options: { keyAge: keyAge({ ageMsMax: 60_000, clock: { unix: () => NOW } }) } },
      async (world) => {
        const old = await world.ask({ key: uuidAt(NOW - 60_001) })
        assertProblem(old, 400, 'idempotency-key-expired')
        assert.equal(world.runs, 0)
        assert.equal((await world.ask({ key: uuidAt(NOW - 60_000) })).status, 201)
      },
    ),
  },
  {
    name: 'answers 425 to early data without a key and runs it with one',
    check: inOneWorld({}, async (world) => {
      const early: Ask = { headers: [['Early-Data', '1']] }
      assertProblem(await world.ask({ ...early, key: null }), 425, 'idempotency-too-early')
      assert.equal(world.runs, 0)
      assert.equal((await world.ask(early)).status, 201)
    }),
  },
]
