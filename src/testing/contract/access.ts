/**
 * Checks that a handler which goes on after its end reaches nothing any more, and that nothing it had
 * sent before makes the answer untrue.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { setImmediate } from 'node:timers/promises'
import type { OpenTransaction, TransactionRequest } from '../../engine/transactions.ts'
import type { TransactionCheck, TransactionHarness } from '../harness.ts'
import { sampleFinish, sampleRequest } from './sample.ts'
import { assertEffects, commitOne, open } from './transaction.ts'

/** How long messages take to the database and back in these checks, in milliseconds each way. */
const DELAY_MS = 2

/** How many late statements are sent at most: a store that takes them is busy with each. */
const LATE_MAX = 500

/** How many errors within errors are looked at: ORMs wrap what a statement rejects with. */
const CAUSES_MAX = 10

/** Whether the error says that the transaction is over, or wraps one that does. */
function isOver(error: unknown): boolean {
  let cause = error
  for (let depth = 0; depth < CAUSES_MAX; depth++) {
    if (typeof cause !== 'object' || cause === null) return false
    if (Reflect.get(cause, 'code') === 'reprise-transaction-over') return true
    cause = Reflect.get(cause, 'cause')
  }
  return false
}

/** Runs the check with a database that is near and with one that takes a while to answer. */
async function nearAndFar(harness: TransactionHarness, check: () => Promise<void>): Promise<void> {
  await check()
  if (harness.delay === undefined) return
  harness.delay(DELAY_MS)
  try {
    await check()
  } finally {
    harness.delay(0)
  }
}

/** A request for each time at which the key may be claimed. */
function requests(): readonly TransactionRequest<unknown>[] {
  return [sampleRequest(), { ...sampleRequest(), claim: 'with-first-statement' }]
}

/** Demands that the statement is refused because the transaction is over. */
async function assertOver(statement: Promise<unknown>, what = 'A statement'): Promise<void> {
  const refusal = await statement.then(
    () => undefined,
    (error: unknown) => ({ error }),
  )
  assert.ok(refusal !== undefined, `${what} was taken after the transaction was over.`)
  assert.ok(isOver(refusal.error), `${what} failed otherwise: ${String(refusal.error)}`)
}

/** Sends a statement in every turn until `ended` settles, and one more; gives what became of each. */
async function sendUntil(
  ended: Promise<unknown>,
  send: () => Promise<unknown>,
): Promise<readonly PromiseSettledResult<unknown>[]> {
  const sent: Promise<unknown>[] = []
  let isEnded = false
  const settled = ended.then(
    () => (isEnded = true),
    () => (isEnded = true),
  )
  while (!isEnded && sent.length < LATE_MAX) {
    sent.push(settle(send()))
    await setImmediate()
  }
  await settled
  sent.push(settle(send()))
  return Promise.allSettled(sent)
}

/** The same promise; that it rejects is looked at later. */
function settle(promise: Promise<unknown>): Promise<unknown> {
  promise.catch(() => {})
  return promise
}

/** Demands that each of these was refused because the transaction is over. */
async function assertAllOver(results: readonly PromiseSettledResult<unknown>[]): Promise<void> {
  for (const result of results) {
    await assertOver(
      result.status === 'fulfilled' ? Promise.resolve() : Promise.reject(result.reason),
    )
  }
}

/** Whether the promise resolves. */
function resolves(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => true,
    () => false,
  )
}

/** Demands that the commit tells the truth: `effects` and the record if it resolved, else neither. */
async function assertTruth(
  harness: TransactionHarness,
  { id, effects }: { readonly id: string; readonly effects: number },
  commit: () => Promise<boolean>,
): Promise<void> {
  const before = await harness.countEffects()
  const isCommitted = await commit()
  const added = (await harness.countEffects()) - before
  const found = await harness.store.find(id)
  assert.equal(found?.status === 'finished', isCommitted, 'The record is not what the commit told.')
  assert.equal(added, isCommitted ? effects : 0, 'The effects are not what the commit told.')
}

/** Ends the transaction, and demands that nothing of it is left to whoever has its connection next. */
async function assertNextIsWhole(harness: TransactionHarness): Promise<void> {
  await assertEffects(harness, 0, async () => {
    const next = await open(harness, sampleRequest())
    await harness.addEffect(next.tx)
    await next.rollback()
  })
  await assertEffects(harness, 1, () => commitOne(harness, sampleRequest()))
}

const endings: readonly {
  readonly name: string
  readonly effects: number
  end(transaction: OpenTransaction<unknown>): Promise<void>
}[] = [
  { name: 'commit', effects: 1, end: (transaction) => transaction.commit(sampleFinish()) },
  { name: 'rollback', effects: 0, end: (transaction) => transaction.rollback() },
]

/** A handler that goes on after its end reaches nothing, and is told so. */
const lateChecks: readonly TransactionCheck[] = [
  {
    name: 'refuses every statement once access has ended',
    async check(harness) {
      await nearAndFar(harness, async () => {
        for (const { effects, end } of endings) {
          for (const request of requests()) {
            await assertEffects(harness, effects, async () => {
              const transaction = await open(harness, request)
              await harness.addEffect(transaction.tx)
              transaction.close()
              await assertOver(harness.addEffect(transaction.tx))
              await end(transaction)
              await assertOver(harness.addEffect(transaction.tx))
            })
          }
        }
      })
    },
  },
  {
    name: 'refuses statements while it is being ended',
    async check(harness) {
      await nearAndFar(harness, async () => {
        for (const { effects, end } of endings) {
          for (const request of requests()) {
            await assertEffects(harness, effects, async () => {
              const transaction = await open(harness, request)
              await harness.addEffect(transaction.tx)
              const ended = end(transaction)
              const sent = await sendUntil(ended, () => harness.addEffect(transaction.tx))
              await ended
              await assertAllOver(sent)
            })
          }
        }
      })
    },
  },
  {
    name: 'lets no late statement into the transaction that comes next',
    async check(harness) {
      await nearAndFar(harness, async () => {
        for (const first of endings) {
          for (const second of endings) {
            await assertEffects(harness, first.effects + second.effects, async () => {
              const one = await open(harness, sampleRequest())
              await harness.addEffect(one.tx)
              one.close()
              await first.end(one)
              const next = await open(harness, sampleRequest())
              await harness.addEffect(next.tx)
              await assertOver(harness.addEffect(one.tx))
              const sent = await sendUntil(second.end(next), () => harness.addEffect(one.tx))
              await assertAllOver(sent)
            })
          }
        }
      })
    },
  },
  {
    name: 'refuses whatever way to the database a handler has kept',
    async check(harness) {
      if (harness.keepWays === undefined) return
      for (const request of requests()) {
        await assertEffects(harness, 1, async () => {
          const transaction = await open(harness, request)
          await harness.addEffect(transaction.tx)
          const ways = (await harness.keepWays?.(transaction.tx)) ?? []
          transaction.close()
          for (const way of ways) await assertOver(way.addEffect(), way.name)
          await transaction.commit(sampleFinish())
          const next = await open(harness, sampleRequest())
          for (const way of ways) await assertOver(way.addEffect(), way.name)
          await next.rollback()
          for (const way of ways) await assertOver(way.addEffect(), way.name)
        })
      }
    },
  },
  {
    name: 'stages no job once access has ended',
    async check(harness) {
      const transaction = await open(harness, sampleRequest())
      const { stage } = transaction
      if (stage === undefined) return transaction.rollback()
      transaction.close()
      const job = { name: 'late', args: 'null', runAt: null, dedupeKey: null }
      await assertOver(stage.call(transaction, job))
      await transaction.rollback()
    },
  },
  {
    name: 'ends access to its part of a transaction that it joined, and to no more',
    async check(harness) {
      const { inOwnTransaction } = harness
      if (inOwnTransaction === undefined) return
      for (const { effects, end } of endings) {
        await assertEffects(harness, effects + 2, () =>
          inOwnTransaction(async (join) => {
            await harness.addEffect(join)
            const part = await open(harness, { ...sampleRequest(), join })
            await harness.addEffect(part.tx)
            part.close()
            await assertOver(harness.addEffect(part.tx))
            await end(part)
            await assertOver(harness.addEffect(part.tx))
            await harness.addEffect(join)
          }),
        )
      }
    },
  },
]

/** What was sent before the end counts, and the commit tells what became of it. */
const underWayChecks: readonly TransactionCheck[] = [
  {
    name: 'commits a statement that was under way when access ended, or refuses it',
    async check(harness) {
      await nearAndFar(harness, async () => {
        for (const request of requests()) {
          const before = await harness.countEffects()
          const transaction = await open(harness, request)
          await harness.addEffect(transaction.tx)
          const sent = [1, 2, 3].map(() => resolves(harness.addEffect(transaction.tx)))
          transaction.close()
          await transaction.commit(sampleFinish())
          const taken = (await Promise.all(sent)).filter((isTaken) => isTaken).length
          assert.equal((await harness.countEffects()) - before, 1 + taken)
        }
      })
    },
  },
  {
    name: 'undoes a statement that was under way when access ended',
    async check(harness) {
      await nearAndFar(harness, async () => {
        for (const request of requests()) {
          await assertEffects(harness, 0, async () => {
            const transaction = await open(harness, request)
            await harness.addEffect(transaction.tx)
            const sent = [1, 2, 3].map(() => settle(harness.addEffect(transaction.tx)))
            transaction.close()
            await transaction.rollback()
            await Promise.allSettled(sent)
          })
        }
        await assertNextIsWhole(harness)
      })
    },
  },
  {
    name: 'tells the truth of a commit when a statement under way fails',
    async check(harness) {
      if (harness.failStatement === undefined) return
      await nearAndFar(harness, async () => {
        for (const request of requests()) {
          await assertTruth(harness, { id: request.id, effects: 1 }, async () => {
            const transaction = await open(harness, request)
            await harness.addEffect(transaction.tx)
            const failing = harness.failStatement?.(transaction.tx)
            transaction.close()
            const isCommitted = await resolves(transaction.commit(sampleFinish()))
            await transaction.rollback()
            await failing
            return isCommitted
          })
        }
        await assertNextIsWhole(harness)
      })
    },
  },
  {
    name: 'tells the truth of a commit while statements go on failing',
    async check(harness) {
      if (harness.failStatement === undefined) return
      await nearAndFar(harness, async () => {
        for (const request of requests()) {
          await assertTruth(harness, { id: request.id, effects: 1 }, async () => {
            const transaction = await open(harness, request)
            await harness.addEffect(transaction.tx)
            const commit = transaction.commit(sampleFinish())
            await sendUntil(commit, async () => harness.failStatement?.(transaction.tx))
            const isCommitted = await resolves(commit)
            await transaction.rollback()
            return isCommitted
          })
        }
        await assertNextIsWhole(harness)
      })
    },
  },
  {
    name: 'tells the truth of a commit when a nested part was left open',
    async check(harness) {
      if (harness.leaveNested === undefined) return
      await nearAndFar(harness, async () => {
        const request = sampleRequest()
        await assertTruth(harness, { id: request.id, effects: 2 }, async () => {
          const transaction = await open(harness, request)
          await harness.addEffect(transaction.tx)
          await harness.leaveNested?.(transaction.tx)
          transaction.close()
          const isCommitted = await resolves(transaction.commit(sampleFinish()))
          await transaction.rollback()
          return isCommitted
        })
        await assertNextIsWhole(harness)
      })
    },
  },
  {
    name: 'undoes a nested part that was left open',
    async check(harness) {
      if (harness.leaveNested === undefined) return
      await assertEffects(harness, 0, async () => {
        const transaction = await open(harness, sampleRequest())
        await harness.leaveNested?.(transaction.tx)
        transaction.close()
        await transaction.rollback()
      })
      await assertNextIsWhole(harness)
    },
  },
]

/** The app's access ends when its handler does, and the commit tells the truth. */
export const accessChecks: readonly TransactionCheck[] = [...lateChecks, ...underWayChecks]
