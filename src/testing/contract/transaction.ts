/**
 * What the checks of transactions are made of.
 *
 * @module
 */

import assert from 'node:assert/strict'
import type { Finish, Refusal } from '../../engine/store.ts'
import type {
  OpenTransaction,
  TransactionRequest,
  Transactions,
} from '../../engine/transactions.ts'
import type { TransactionHarness } from '../harness.ts'
import { sampleFinish } from './sample.ts'

type Begun = OpenTransaction<unknown> | Refusal

/** The capability, or a failed assertion. */
export function transactionsOf(store: TransactionHarness['store']): Transactions<unknown> {
  return store.transactions ?? assert.fail('The store has transactions.')
}

/** Begins through the store. */
export function begin(
  { store }: Pick<TransactionHarness, 'store'>,
  request: TransactionRequest<unknown>,
): Promise<Begun> {
  return transactionsOf(store).begin(request)
}

/** Whether the transaction is open. */
export function isOpen(begun: Begun): begun is OpenTransaction<unknown> {
  return 'tx' in begun
}

/** Begins and demands that the transaction is open. */
export async function open(
  harness: Pick<TransactionHarness, 'store'>,
  request: TransactionRequest<unknown>,
): Promise<OpenTransaction<unknown>> {
  const begun = await begin(harness, request)
  return isOpen(begun) ? begun : assert.fail(`The transaction is refused with ${begun.outcome}.`)
}

/** Begins, adds an effect, and commits. */
export async function commitOne(
  harness: TransactionHarness,
  request: TransactionRequest<unknown>,
  finish: Finish = sampleFinish(),
): Promise<void> {
  const transaction = await open(harness, request)
  await harness.addEffect(transaction.tx)
  await transaction.commit(finish)
}

/** Demands that `act` adds that many effects, no more and no less. */
export async function assertEffects(
  { countEffects }: TransactionHarness,
  expected: number,
  act: () => Promise<unknown>,
): Promise<void> {
  const before = await countEffects()
  await act()
  assert.equal((await countEffects()) - before, expected)
}
