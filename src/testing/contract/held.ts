/**
 * Checks of claims that may go with the first statement. A store that can not hold them back claims
 * first, and keeps the same.
 *
 * @module
 */

import assert from 'node:assert/strict'
import { isRepriseError } from '../../core/errors.ts'
import type { TransactionRequest } from '../../engine/transactions.ts'
import type { TransactionCheck } from '../harness.ts'
import { impostorOf, rivalOf, sampleFinish, sampleRequest, take } from './sample.ts'
import { assertEffects, begin, commitOne, isOpen } from './transaction.ts'

/** The request with its claim held back, where the store can. */
function held(request: TransactionRequest<unknown>): TransactionRequest<unknown> {
  return { ...request, claim: 'with-first-statement' }
}

/** Demands that the request is refused: at once, or with every statement that it makes. */
async function assertRefused(
  harness: Parameters<TransactionCheck['check']>[0],
  request: TransactionRequest<unknown>,
): Promise<void> {
  const transaction = await begin(harness, held(request))
  if (!isOpen(transaction)) return
  for (let statement = 0; statement < 2; statement++) {
    await assert.rejects(harness.addEffect(transaction.tx), isDuplicateRequest)
  }
  await assert.rejects(transaction.commit(sampleFinish()), isDuplicateRequest)
  assert.equal(transaction.held?.isGranted, false)
  await transaction.rollback()
  await assert.rejects(harness.addEffect(transaction.tx))
}

function isDuplicateRequest(error: unknown): boolean {
  return isRepriseError(error) && error.code === 'reprise-duplicate-request'
}

/** With the claim in the first statement as with the claim before it. */
export const heldChecks: readonly TransactionCheck[] = [
  {
    name: 'commits record and effect together when the claim may go with the first statement',
    async check(harness) {
      // What a store learns or prepares, it has by the third.
      for (let round = 0; round < 3; round++) {
        const request = sampleRequest()
        await assertEffects(harness, 1, () => commitOne(harness, held(request)))
        assert.equal((await begin(harness, rivalOf(request))).outcome, 'replay')
      }
    },
  },
  {
    name: 'executes nothing of a duplicate whose claim may go with the first statement',
    async check(harness) {
      for (let round = 0; round < 3; round++) {
        const request = sampleRequest()
        await assertEffects(harness, 1, async () => {
          await commitOne(harness, held(request))
          await assertRefused(harness, rivalOf(request))
          await assertRefused(harness, impostorOf(request))
        })
      }
    },
  },
  {
    name: 'executes nothing beside a lease when the claim may go with the first statement',
    async check(harness) {
      const request = sampleRequest()
      await take(harness.store, request)
      await assertEffects(harness, 0, () => assertRefused(harness, rivalOf(request)))
    },
  },
  {
    name: 'leaves nothing of a claim that was held back and never made',
    async check(harness) {
      const request = sampleRequest()
      const transaction = await begin(harness, held(request))
      assert.ok(isOpen(transaction))
      await transaction.keepAlive()
      await transaction.rollback()
      await assertEffects(harness, 1, () => commitOne(harness, held(rivalOf(request))))
    },
  },
]
