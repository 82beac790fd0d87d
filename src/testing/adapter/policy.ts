/**
 * Checks what becomes of errors, and what a handler can say about its run.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { responsePolicies } from '../../core/policy.ts'
import type { AdapterCheck, Deed, DeedRequest } from './harness.ts'
import type { Answer } from './raw-client.ts'
import {
  assertProblem,
  assertUnkept,
  created,
  inOneWorld,
  inWorld,
  type WorldSpec,
} from './world.ts'

/** Fails the first time and succeeds from then on. */
function failingOnce(fail: (request: DeedRequest) => Promise<Deed>): Pick<WorldSpec, 'deed'> {
  return { deed: (request, run) => (run === 1 ? fail(request) : created(request, run)) }
}

const FAILURE = new Error('The handler failed.')

async function throwing(): Promise<Deed> {
  throw FAILURE
}

async function throwingAfterEffect({ run }: DeedRequest): Promise<Deed> {
  assert.ok(run !== undefined && 'markEffect' in run)
  await run.markEffect()
  throw FAILURE
}

function answering(status: number): () => Promise<Deed> {
  return async () => ({ status, how: 'json', body: { status } })
}

/** What becomes of errors. */
export const policyChecks: readonly AdapterCheck[] = [
  {
    name: `hands what the handler throws to the framework's own error handling`,
    async check(harness) {
      let without: Answer | undefined
      await inWorld(harness, { deed: throwing, isProtected: false }, async (world) => {
        without = await world.ask()
        assert.deepEqual(world.served.errors, [FAILURE])
      })
      await inWorld(harness, { deed: throwing }, async (world) => {
        const answer = await world.ask()
        assert.deepEqual(world.served.errors, [FAILURE])
        assert.equal(answer.status, without?.status)
        assert.deepEqual(answer.body, without?.body)
        assert.equal(answer.header('content-type'), without?.header('content-type'))
      })
    },
  },
  {
    name: 'does not run again after a throw that may have come after the effect',
    check: inOneWorld(failingOnce(throwing), async (world) => {
      assert.equal((await world.ask()).status, 500)
      assertProblem(await world.ask(), 409, 'idempotency-outcome-unknown')
      assert.equal(world.runs, 1)
    }),
  },
  {
    name: 'hole 17: does not run again after a throw that came after the effect',
    check: inOneWorld(
      { ...failingOnce(throwingAfterEffect), options: { marksEffect: true } },
      async (world) => {
        assert.equal((await world.ask()).status, 500)
        assertProblem(await world.ask(), 409, 'idempotency-outcome-unknown')
        assert.equal(world.runs, 1)
      },
    ),
  },
  {
    name: 'runs again after a throw that came before the effect',
    check: inOneWorld(
      { ...failingOnce(throwing), options: { marksEffect: true } },
      async (world) => {
        assert.equal((await world.ask()).status, 500)
        assert.equal((await world.ask()).json['run'], 2)
        await world.replay()
      },
    ),
  },
  {
    name: 'says that a failure without effect may be sent again with the same key',
    check: inOneWorld({ deed: answering(503), options: { marksEffect: true } }, async (world) => {
      const answer = await world.ask()
      assert.equal(answer.header('idempotent-retry'), 'same-key')
      assert.equal(answer.header('idempotency-expires'), undefined)
      assertUnkept(answer)
    }),
  },
  {
    name: 'says of each answer that is not kept that it will not come again',
    async check(harness) {
      for (const status of [400, 401, 429, 500, 502]) {
        await inWorld(harness, { deed: answering(status) }, async (world) => {
          const answer = await world.ask()
          assert.equal(answer.status, status)
          assertUnkept(answer)
        })
      }
    },
  },
  {
    name: `says of the framework's answer to a throw that it will not come again`,
    appliesTo: ({ rendersErrors = true }) => rendersErrors,
    check: inOneWorld({ deed: throwing }, async (world) => assertUnkept(await world.ask())),
  },
  {
    name: 'says nothing of the kind of answers that are kept, nor of their replays',
    async check(harness) {
      for (const status of [200, 201, 303, 402, 404]) {
        await inWorld(harness, { deed: answering(status) }, async (world) => {
          assert.equal((await world.ask()).header('idempotency-stored'), undefined)
          assert.equal((await world.replay()).header('idempotency-stored'), undefined)
        })
      }
    },
  },
  {
    name: 'runs again after a throw where the route says so',
    check: inOneWorld(
      { ...failingOnce(throwing), options: { afterCrash: 'rerun' } },
      async (world) => {
        assert.equal((await world.ask()).status, 500)
        assert.equal((await world.ask()).json['run'], 2)
      },
    ),
  },
  {
    name: 'has recover() answer for a run whose outcome is unknown',
    check: inOneWorld(
      {
        ...failingOnce(throwing),
        options: {
          afterCrash: async ({ key }) => ({
            ...{ status: 200, headers: [['X-Found', 'yes']] },
            body: Buffer.from(`found by ${key}`),
          }),
        },
      },
      async (world) => {
        assert.equal((await world.ask()).status, 500)
        const found = await world.ask()
        assert.equal(found.text, 'found by key-1')
        assert.equal(found.header('x-found'), 'yes')
        assert.equal(found.header('idempotency-key'), 'key-1')
        assert.equal((await world.replay()).text, 'found by key-1')
        assert.equal(world.runs, 1)
      },
    ),
  },
  {
    name: 'gives a sensitive answer once, and then tells that it is gone',
    check: inOneWorld({ options: { sensitive: true } }, async (world) => {
      const first = await world.ask()
      assert.equal(first.json['run'], 1)
      assertUnkept(first)
      assertProblem(await world.ask(), 409, 'idempotency-result-gone')
      assert.equal(world.runs, 1)
    }),
  },
  {
    name: `keeps the framework's answer to a throw where the policy is stripe's`,
    appliesTo: ({ rendersErrors = true }) => rendersErrors,
    check: inOneWorld(
      { ...failingOnce(throwing), options: { policy: responsePolicies.stripe } },
      async (world) => {
        const first = await world.ask()
        assert.equal(first.status, 500)
        const again = await world.replay()
        assert.equal(again.status, 500)
        assert.deepEqual(again.body, first.body)
      },
    ),
  },
  {
    name: 'frees the key after a 400: the corrected request may use it',
    check: inOneWorld(failingOnce(answering(400)), async (world) => {
      assert.equal((await world.ask()).status, 400)
      assert.equal((await world.ask({ body: '{"amount":200}' })).json['run'], 2)
    }),
  },
  {
    name: 'keeps a 402 and a 404',
    async check(harness) {
      for (const status of [402, 404]) {
        await inWorld(harness, { deed: answering(status) }, async (world) => {
          await world.ask()
          assert.equal((await world.replay()).status, status)
        })
      }
    },
  },
  {
    name: 'hole 18: does not keep a 502 and does not run it again either',
    check: inOneWorld(failingOnce(answering(502)), async (world) => {
      assert.equal((await world.ask()).status, 502)
      assertProblem(await world.ask(), 409, 'idempotency-outcome-unknown')
    }),
  },
  {
    name: 'has the handler free the key by release()',
    check: inOneWorld(
      failingOnce(async ({ run }) => {
        run?.release()
        return { status: 200, how: 'send', body: 'nothing done' }
      }),
      async (world) => {
        const answer = await world.ask()
        assert.equal(answer.text, 'nothing done')
        assert.equal(answer.header('idempotency-expires'), undefined)
        assertUnkept(answer)
        assert.equal((await world.ask()).json['run'], 2)
      },
    ),
  },
  {
    name: 'has the handler keep an answer by store()',
    check: inOneWorld(
      failingOnce(async ({ run }) => {
        run?.store()
        return { status: 500, how: 'send', body: 'final' }
      }),
      async (world) => {
        await world.ask()
        assert.equal((await world.replay()).text, 'final')
      },
    ),
  },
  {
    name: 'gives the handler no run when the request has no key',
    check: inOneWorld(
      { deed: async ({ run }) => ({ status: 200, how: 'send', body: String(run === undefined) }) },
      async (world) => {
        assert.equal((await world.ask({ key: null })).text, 'true')
        assert.equal((await world.ask()).text, 'false')
      },
    ),
  },
]
