/**
 * Checks of transaction mode: the effect and the answer commit together, before anything is sent.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { Store } from '../../engine/store.ts'
import type { OpenTransaction, Transactions } from '../../engine/transactions.ts'
import type { AdapterCheck, AdapterHarness, Deed, TransactionalStore } from './harness.ts'
import { assertMisuse } from './misuse.ts'
import { assertProblem, Gate, inWorld, patient, type World, type WorldSpec } from './world.ts'

interface Bench {
  readonly world: World
  readonly effects: () => Promise<number>
}

interface BenchSpec extends Omit<WorldSpec, 'deed' | 'store'> {
  /** Answers after the effect. */
  readonly after?: (run: number) => Promise<Deed>
  /** Comes before each commit; what it throws is thrown instead. */
  readonly beforeCommit?: () => Promise<void>
}

/** An app in transaction mode whose handler adds one effect in each run. */
async function onBench(
  harness: AdapterHarness,
  { after = done, beforeCommit = async () => {}, ...spec }: BenchSpec,
  check: (bench: Bench) => Promise<void>,
): Promise<void> {
  const opened = await harness.openTransactional()
  const deed: WorldSpec['deed'] = async ({ run }, count) => {
    assert.ok(run !== undefined && 'tx' in run, 'The handler is given a transaction')
    await opened.addEffect(run.tx)
    return after(count)
  }
  const options = { transaction: true, ...spec.options }
  const store = gatedCommit(opened, beforeCommit)
  try {
    await inWorld(harness, { ...spec, deed, options, store }, (world) =>
      check({ world, effects: () => opened.countEffects() }),
    )
  } finally {
    await opened.dispose()
  }
}

async function done(run: number): Promise<Deed> {
  return { status: 201, how: 'json', body: { run } }
}

/** What databases call a serialization failure, by a name of our own. */
class Serialization extends Error {}

/** The store with something before each commit. */
function gatedCommit(
  { store }: TransactionalStore,
  beforeCommit: () => Promise<void>,
): Store<unknown> {
  const { transactions } = store
  assert.ok(transactions !== undefined)
  const gated: Transactions<unknown> = {
    run: transactions.run,
    check: transactions.check,
    async begin(request) {
      const start = await transactions.begin(request)
      return 'commit' in start ? gatedOpen(start, beforeCommit) : start
    },
    classify: (error) => (error instanceof Serialization ? 'retry' : transactions.classify(error)),
  }
  return new Proxy(store, {
    get(target, name) {
      if (name === 'transactions') return gated
      const member: unknown = Reflect.get(target, name)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

function gatedOpen(
  open: OpenTransaction<unknown>,
  beforeCommit: () => Promise<void>,
): OpenTransaction<unknown> {
  return {
    ...{ outcome: open.outcome, tx: open.tx },
    async commit(finish) {
      await beforeCommit()
      await open.commit(finish)
    },
    close: () => open.close(),
    rollback: () => open.rollback(),
    keepAlive: () => open.keepAlive(),
  }
}

/** Throws what `makeError` gives, the first time. */
function failingOnce(makeError: () => Error): () => Promise<void> {
  let isFirst = true
  return async () => {
    if (!isFirst) return
    isFirst = false
    throw makeError()
  }
}

/** Settings that do not go with transactions. */
const NEVER: readonly (readonly [options: NonNullable<WorldSpec['options']>, sentence: RegExp])[] =
  [
    [{ streams: 'bypass' }, /streams: 'bypass' and transaction/],
    [{ failOpen: true }, /failOpen and transaction/],
  ]

/** Transaction mode. */
export const transactionChecks: readonly AdapterCheck[] = [
  {
    name: 'commits the effect and the answer together, once',
    check: (harness) =>
      onBench(harness, {}, async ({ world, effects }) => {
        const first = await world.ask()
        assert.deepEqual(first.json, { run: 1 })
        assert.equal(await effects(), 1)
        assert.deepEqual((await world.replay()).body, first.body)
        assert.equal(await effects(), 1)
      }),
  },
  {
    name: 'sends nothing before the commit',
    check: (harness) => {
      const [asked, gate] = [new Gate(), new Gate()]
      const beforeCommit = () => {
        asked.open()
        return gate.opened
      }
      return onBench(harness, { beforeCommit }, async ({ world, effects }) => {
        const first = world.open()
        await patient(asked.opened, 'the commit')
        assertProblem(await world.ask(), 409, 'idempotency-in-progress')
        await world.settle()
        assert.equal(first.isAnswered, false)
        assert.equal(await effects(), 0)
        gate.open()
        assert.equal((await patient(first.answer, 'the answer')).status, 201)
        assert.equal(await effects(), 1)
      })
    },
  },
  {
    name: 'undoes the effect of a 5xx, and runs again',
    check: (harness) => {
      const after = async (run: number): Promise<Deed> =>
        run === 1 ? { status: 503, how: 'send', body: 'later' } : done(run)
      return onBench(harness, { after }, async ({ world, effects }) => {
        const answer = await world.ask()
        assert.equal(answer.status, 503)
        assert.equal(answer.text, 'later')
        assert.equal(await effects(), 0)
        assert.deepEqual((await world.ask()).json, { run: 2 })
        assert.equal(await effects(), 1)
      })
    },
  },
  {
    name: 'undoes the effect of a throw, and runs again',
    check: (harness) => {
      const failure = new Error('The handler failed.')
      const after = async (run: number): Promise<Deed> => {
        if (run === 1) throw failure
        return done(run)
      }
      return onBench(harness, { after }, async ({ world, effects }) => {
        assert.equal((await world.ask()).status, 500)
        assert.deepEqual(world.served.errors, [failure])
        assert.equal(await effects(), 0)
        assert.deepEqual((await world.ask()).json, { run: 2 })
        assert.equal(await effects(), 1)
      })
    },
  },
  {
    name: 'never sends the answer of a transaction that did not commit',
    check: (harness) => {
      const beforeCommit = failingOnce(() => new Error('The commit failed.'))
      return onBench(harness, { beforeCommit }, async ({ world, effects }) => {
        const answer = await world.ask()
        assert.equal(answer.status, 500)
        assert.notDeepEqual(answer.text, '{"run":1}')
        assert.equal(await effects(), 0)
        assert.deepEqual((await world.ask()).json, { run: 2 })
        assert.equal(await effects(), 1)
      })
    },
  },
  {
    name: 'hole 22: runs a transaction again that lost to others, or has the client do it',
    check: (harness) => {
      const beforeCommit = failingOnce(() => new Serialization('Lost to another transaction.'))
      return onBench(harness, { beforeCommit }, async ({ world, effects }) => {
        const answer = await world.ask()
        if (answer.status !== 201) {
          assertProblem(answer, 503, 'idempotency-conflict')
          assert.ok(Number(answer.header('retry-after')) >= 1)
          assert.equal(await effects(), 0)
          assert.equal((await world.ask()).status, 201)
        }
        assert.equal(await effects(), 1)
        assert.deepEqual((await world.replay()).json, { run: 2 })
      })
    },
  },
  {
    name: 'hole 5: has one effect for ten duplicates at the same time in transaction mode',
    check: (harness) =>
      onBench(harness, { options: { waitMs: 10_000 } }, async ({ world, effects }) => {
        const answers = await Promise.all(Array.from({ length: 10 }, () => world.ask()))
        assert.deepEqual(new Set(answers.map(({ text }) => text)), new Set(['{"run":1}']))
        assert.equal(await effects(), 1)
      }),
  },
  {
    name: 'hole 10: commits when the client goes away during the handler',
    check: (harness) => {
      const gate = new Gate()
      const after = async (run: number) => {
        await gate.opened
        return done(run)
      }
      const options = { waitMs: 10_000 }
      return onBench(harness, { after, options }, async ({ world, effects }) => {
        const first = world.open()
        await world.begun()
        await first.cut()
        const again = world.ask()
        await world.settle()
        gate.open()
        assert.equal((await again).header('idempotent-replayed'), 'true')
        assert.equal(await effects(), 1)
      })
    },
  },
  {
    name: 'refuses at start what does not go with transactions',
    async check(harness) {
      for (const [options, sentence] of NEVER) {
        await assert.rejects(
          onBench(harness, { options }, async () => {}),
          (error) => {
            assertMisuse(error, sentence)
            return true
          },
        )
      }
    },
  },
  {
    name: 'tells that a stream can not be committed, and undoes the effect',
    check: (harness) => {
      const head = { status: 200, headers: [['Content-Type', 'text/event-stream']] } as const
      async function* events(): AsyncIterable<Uint8Array> {
        yield Buffer.from('data: one\n\n')
      }
      const after = async (): Promise<Deed> => ({ ...head, how: 'stream', body: events() })
      return onBench(harness, { after }, async ({ world, effects }) => {
        const answer = await world.ask()
        assert.equal(answer.status, 500)
        assert.match(String(world.served.errors[0]), /has to be whole before the commit/)
        assert.equal(await effects(), 0)
      })
    },
  },
]
