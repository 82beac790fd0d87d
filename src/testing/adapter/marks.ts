/**
 * Checks what answers say about themselves, in the dialect of the route.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { agents } from '../../core/dialects/agents.ts'
import { stripe } from '../../core/dialects/stripe.ts'
import { tasks } from '../../core/dialects/tasks.ts'
import { CORS_EXPOSE_HEADERS } from '../../core/response.ts'
import type { AdapterCheck } from './harness.ts'
import type { Answer } from './raw-client.ts'
import { type Ask, inOneWorld, inWorld } from './world.ts'

const REQUEST_1: Ask = { headers: [['X-Request-Id', 'req_1']] }
const REQUEST_2: Ask = { headers: [['X-Request-Id', 'req_2']] }

/** Marks of a replay that a client sends itself, to make the server believe something. */
const SPOOFED: Ask = {
  headers: [
    ['Idempotent-Replayed', 'true'],
    ['Idempotency-Stored', 'false'],
    ['Original-Request-Id', 'req_0'],
    ['X-Hit', 'true'],
    ['X-Idempotency-Key', 'other'],
  ],
}

function namesOf({ headers }: Answer): readonly string[] {
  return headers.map(([name]) => name.toLowerCase())
}

/** What answers say about themselves. */
export const markChecks: readonly AdapterCheck[] = [
  {
    name: 'marks a replay, names the first request and says how long the answer is kept',
    check: inOneWorld({ options: { retentionMs: 3_600_000 } }, async (world) => {
      const first = await world.ask(REQUEST_1)
      assert.equal(first.header('idempotency-key'), 'key-1')
      assert.equal(first.header('idempotency-expires'), '3600')
      assert.equal(first.header('idempotency-stored'), undefined)
      assert.equal(first.header('original-request-id'), undefined)

      const again = await world.replay(REQUEST_2)
      assert.equal(again.header('original-request-id'), 'req_1')
      assert.ok(Number(again.header('idempotency-expires')) > 3000)
    }),
  },
  {
    name: 'takes the id of the request from where the route says',
    check: (harness) => {
      const requestId = (request: unknown) => harness.header(request, 'x-trace') ?? null
      return inWorld(harness, { options: { requestId } }, async (world) => {
        await world.ask({ headers: [['X-Trace', 'trace_1']] })
        assert.equal((await world.replay()).header('original-request-id'), 'trace_1')
      })
    },
  },
  {
    name: 'hole 16: ignores marks that the client sends',
    check: inOneWorld({}, async (world) => {
      const first = await world.ask(SPOOFED)
      assert.equal(first.status, 201)
      assert.equal(world.runs, 1)
      assert.equal(first.header('idempotent-replayed'), undefined)
      assert.equal(first.header('idempotency-stored'), undefined)
      assert.equal((await world.replay(SPOOFED)).header('original-request-id'), undefined)
    }),
  },
  {
    name: 'adds no header that scripts of other origins are not told of',
    check: async (harness) => {
      const exposed = new Set(CORS_EXPOSE_HEADERS.map((name) => name.toLowerCase()))
      let plain: readonly string[] = []
      await inWorld(harness, { isProtected: false }, async (world) => {
        plain = namesOf(await world.ask())
      })
      await inWorld(harness, {}, async (world) => {
        const other: Ask = { body: '{"amount":1}' }
        const answers = [await world.ask(REQUEST_1), await world.ask(), await world.ask(other)]
        const added = answers.flatMap(namesOf).filter((name) => !plain.includes(name))
        assert.ok(added.length > 0)
        assert.deepEqual(
          added.filter((name) => !exposed.has(name)),
          [],
        )
      })
    },
  },
  {
    name: 'links to the pages of the errors where they are published',
    check: inOneWorld({ options: { docsUrl: 'https://docs.example/errors' } }, async (world) => {
      const answer = await world.ask({ key: 'null' })
      const page = 'https://docs.example/errors#idempotency-key-invalid'
      assert.equal(answer.json['type'], page)
      assert.ok(answer.header('link')?.startsWith(`<${page}>; rel="describedby"`))
    }),
  },
  {
    name: 'speaks the dialect of the route: another status for a replayed 201',
    check: inOneWorld({ options: { dialect: tasks } }, async (world) => {
      assert.equal((await world.ask()).status, 201)
      assert.equal((await world.replay()).status, 200)
    }),
  },
  {
    name: 'speaks the dialect of the route: another error, one key for all routes',
    check: inOneWorld({ options: { dialect: stripe } }, async (world) => {
      const first = await world.ask(REQUEST_1)
      assert.equal(first.header('original-request'), 'req_1')
      const answer = await world.ask({ path: '/others/1' })
      assert.equal(answer.status, 400)
      const { error } = answer.json
      assert.ok(typeof error === 'object' && error !== null && 'type' in error)
      assert.equal(error.type, 'idempotency_error')
    }),
  },
  {
    name: 'speaks the dialect of the route: another header for the key',
    check: inOneWorld({ options: { dialect: agents } }, async (world) => {
      const ask: Ask = { key: null, headers: [['X-Idempotency-Key', 'key-1']] }
      assert.equal((await world.ask(ask)).header('x-idempotency-key'), 'key-1')
      await world.replay(ask)
      await world.ask()
      assert.equal(world.runs, 2)
    }),
  },
  {
    name: 'refuses a replay that the caller may no longer see, and keeps it',
    check: (harness) => {
      const authorizeReplay = async (request: unknown) =>
        harness.header(request, 'x-allowed') === 'yes'
      return inWorld(harness, { options: { authorizeReplay } }, async (world) => {
        await world.ask()
        const answer = await world.ask()
        assert.equal(answer.status, 403)
        assert.equal(answer.json['code'], 'idempotency-replay-forbidden')
        await world.replay({ headers: [['X-Allowed', 'yes']] })
      })
    },
  },
  {
    name: 'gives no replay without a plain true from authorizeReplay',
    check: async (harness) => {
      const answers: readonly unknown[] = [undefined, null, 0, 1, '', 'false', 'true', {}]
      for (const answer of answers.flatMap((value) => [value, Promise.resolve(value)])) {
        // JavaScript may answer anything.
        const authorizeReplay = () => answer as boolean
        await inWorld(harness, { options: { authorizeReplay } }, async (world) => {
          await world.ask()
          assert.equal((await world.ask()).status, 403)
          assert.equal(world.runs, 1)
        })
      }
    },
  },
  {
    name: 'takes another version of the API for another request',
    check: (harness) => {
      const version = (request: unknown) => harness.header(request, 'x-version')
      return inWorld(harness, { options: { version } }, async (world) => {
        await world.ask({ headers: [['X-Version', '1']] })
        assert.equal((await world.ask({ headers: [['X-Version', '2']] })).status, 422)
        await world.replay({ headers: [['X-Version', '1']] })
      })
    },
  },
]
