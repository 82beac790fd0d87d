import { AssertionError } from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import { storeContract } from '../../src/testing/store-contract.ts'
import { transactionContract } from '../../src/testing/transaction-contract.ts'
import { MUTANTS, pliableHarness } from './mutants.ts'
import { pliableTransactions, TRANSACTION_BREAKS } from './pliable-transactions.ts'

/** One list of checks, what is whole, and what is broken. */
interface Contract<Harness> {
  readonly name: string
  readonly checks: readonly { readonly name: string; check(harness: Harness): Promise<void> }[]
  whole(): Harness
  readonly mutants: readonly { readonly name: string; harness(): Harness }[]
}

describeMutants({
  name: 'store',
  ...{ checks: storeContract, whole: pliableHarness, mutants: MUTANTS },
})

describeMutants({
  name: 'transaction',
  ...{ checks: transactionContract, whole: () => pliableTransactions(null) },
  mutants: TRANSACTION_BREAKS.map((name) => ({ name, harness: () => pliableTransactions(name) })),
})

function describeMutants<Harness>({ name, checks, whole, mutants }: Contract<Harness>): void {
  it(`a whole ${name} keeps the contract`, async () => {
    const failed: string[] = []
    for (const { name, check } of checks) if (await fails(check(whole()))) failed.push(name)

    expect(failed).toEqual([])
  })

  describe(`a broken ${name} fails the check:`, () => {
    for (const { name, check } of checks) {
      it(name, async () => {
        const culprit = await findAsync(mutants, ({ harness }) => fails(check(harness())))

        expect(culprit).toBeDefined()
      })
    }
  })

  describe(`the contract finds out a ${name} that`, () => {
    for (const { name, harness } of mutants) {
      it(name, async () => {
        const failed = await findAsync(checks, ({ check }) => fails(check(harness())))

        expect(failed).toBeDefined()
      })
    }
  })
}

/** Whether the check finds something wrong. Any other error is a mistake in the check or the mutant. */
async function fails(check: Promise<void>): Promise<boolean> {
  try {
    await check
    return false
  } catch (error) {
    if (error instanceof AssertionError) return true
    throw error
  }
}

async function findAsync<T>(
  items: readonly T[],
  isWanted: (item: T) => Promise<boolean>,
): Promise<T | undefined> {
  for (const item of items) if (await isWanted(item)) return item
  return undefined
}
