/**
 * Checks that no answer ends a run whose handler still works.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { AdapterCheck, AdapterHarness, Deed } from './harness.ts'
import { assertProblem, assertUnkept, created, Gate, inWorld } from './world.ts'

const knowsHandlerEnd = ({ knowsHandlerEnd: isKnown = true }: AdapterHarness): boolean => isKnown

/** Statuses that a middleware may answer early with: each has another rule when a handler gives it. */
const EARLY = [202, 408, 429, 503]

/** An answer that says who gave it. */
function saying(status: number, by: string): Deed {
  return { status, headers: [['X-By', by]], how: 'json', body: { by } }
}

/** What a middleware in front does: the first request gets `gate`, every other none. */
function once(gate: Gate<Deed>): () => Promise<Deed> {
  const answers = [gate.opened]
  return () => answers.pop() ?? new Promise<Deed>(() => {})
}

/** Asks again with patience: the request is in progress until its handler is over. */
const PATIENT = [['Prefer', 'wait=5']] as const

/** What becomes of a request that is answered while its handler works. */
export const earlyChecks: readonly AdapterCheck[] = [
  {
    name: "keeps the handler's own answer where a middleware in front has answered before",
    appliesTo: knowsHandlerEnd,
    async check(harness) {
      for (const status of EARLY) {
        const early = new Gate<Deed>()
        const work = new Gate()
        const deed = async (): Promise<Deed> => {
          await work.opened
          return saying(201, 'handler')
        }
        await inWorld(harness, { deed, early: once(early) }, async (world) => {
          const first = world.ask()
          await world.begun()
          early.open(saying(status, 'front'))
          const answer = await first
          assert.equal(answer.status, status)
          assert.equal(answer.json['by'], 'front')
          assertProblem(await world.ask(), 409, 'idempotency-in-progress')
          work.open()
          const again = await world.ask({ headers: PATIENT })
          assert.equal(again.status, 201, again.text)
          assert.equal(again.json['by'], 'handler')
          assert.equal(again.header('x-by'), 'handler')
          assert.equal(again.header('idempotent-replayed'), 'true')
          assert.equal(world.runs, 1)
        })
      }
    },
  },
  {
    name: 'says of an answer from in front that it will not come again',
    appliesTo: knowsHandlerEnd,
    async check(harness) {
      const early = new Gate<Deed>()
      const work = new Gate()
      const deed = async (): Promise<Deed> => {
        await work.opened
        return saying(201, 'handler')
      }
      await inWorld(harness, { deed, early: once(early) }, async (world) => {
        const first = world.ask()
        await world.begun()
        early.open(saying(202, 'front'))
        // A middleware around `fetch` handlers sends its own `Response`, which nobody can mark.
        const answer = await first
        if (answer.header('idempotency-key') !== undefined) assertUnkept(answer)
        work.open()
        await world.ask({ headers: PATIENT })
      })
    },
  },
  {
    name: 'leaves the outcome unknown where the handler fails after a middleware in front has answered',
    appliesTo: knowsHandlerEnd,
    async check(harness) {
      const early = new Gate<Deed>()
      const work = new Gate()
      const deed = async (): Promise<Deed> => {
        await work.opened
        throw new Error('The handler failed late.')
      }
      await inWorld(harness, { deed, early: once(early) }, async (world) => {
        const first = world.ask()
        await world.begun()
        early.open(saying(408, 'front'))
        assert.equal((await first).status, 408)
        assertProblem(await world.ask(), 409, 'idempotency-in-progress')
        work.open()
        assertProblem(await world.ask({ headers: PATIENT }), 409, 'idempotency-outcome-unknown')
        assert.equal(world.runs, 1)
      })
    },
  },
  {
    name: 'commits what the handler did in its transaction where a middleware in front has answered before',
    appliesTo: knowsHandlerEnd,
    async check(harness) {
      const transactional = await harness.openTransactional()
      const early = new Gate<Deed>()
      const work = new Gate()
      try {
        await inWorld(
          harness,
          {
            store: transactional.store,
            options: { transaction: true },
            early: once(early),
            deed: async ({ run }) => {
              assert.ok(run !== undefined && 'tx' in run)
              await transactional.addEffect(run.tx)
              await work.opened
              await transactional.addEffect(run.tx)
              return saying(201, 'handler')
            },
          },
          async (world) => {
            const first = world.ask()
            await world.begun()
            early.open(saying(202, 'front'))
            assert.equal((await first).status, 202)
            assertProblem(await world.ask(), 409, 'idempotency-in-progress')
            work.open()
            const again = await world.ask({ headers: PATIENT })
            assert.equal(again.status, 201, again.text)
            assert.equal(await transactional.countEffects(), 2)
            assert.equal(world.runs, 1)
          },
        )
      } finally {
        await transactional.dispose()
      }
    },
  },
  {
    name: 'frees no key while work goes on that the handler has told of',
    async check(harness) {
      for (const status of [400, 408, 429, 503]) {
        const work = new Gate()
        await inWorld(
          harness,
          {
            options: { afterCrash: 'rerun' },
            deed: async (request, run) => {
              if (run > 1) return created(request, run)
              request.run?.holdUntil(work.opened)
              return saying(status, 'handler')
            },
          },
          async (world) => {
            const answer = await world.ask()
            assert.equal(answer.status, status)
            assertUnkept(answer)
            assertProblem(await world.ask(), 409, 'idempotency-in-progress')
            work.open()
            assert.equal((await world.ask({ headers: PATIENT })).json['run'], 2)
          },
        )
      }
    },
  },
  {
    name: 'does not run again after a 408 that may have come after the effect',
    async check(harness) {
      const deed = async (): Promise<Deed> => saying(408, 'handler')
      await inWorld(harness, { deed }, async (world) => {
        assert.equal((await world.ask()).status, 408)
        assertProblem(await world.ask(), 409, 'idempotency-outcome-unknown')
        assert.equal(world.runs, 1)
      })
    },
  },
]
