import { AssertionError } from 'node:assert/strict'
import { describe, expect, it } from 'vitest'
import type { StoreCheck } from '../../src/testing/harness.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { MUTANTS, type Mutant, pliableHarness } from './mutants.ts'

async function fails({ check }: StoreCheck, { harness }: Mutant): Promise<boolean> {
  try {
    await check(harness())
    return false
  } catch (error) {
    if (error instanceof AssertionError) return true
    throw error
  }
}

describe('the store that is broken on purpose', () => {
  it('keeps the whole contract as long as nothing is broken', async () => {
    for (const { check } of storeContract) await check(pliableHarness())

    expect(storeContract.length).toBeGreaterThan(100)
  })
})

describe('a broken store fails the check that a store', () => {
  for (const one of storeContract) {
    it(one.name, async () => {
      const culprit = await findAsync(MUTANTS, (mutant) => fails(one, mutant))

      expect(culprit).toBeDefined()
    })
  }
})

describe('the contract finds out a store that', () => {
  for (const mutant of MUTANTS) {
    it(mutant.name, async () => {
      const failed = await findAsync(storeContract, (one) => fails(one, mutant))

      expect(failed).toBeDefined()
    })
  }
})

async function findAsync<T>(
  items: readonly T[],
  isWanted: (item: T) => Promise<boolean>,
): Promise<T | undefined> {
  for (const item of items) if (await isWanted(item)) return item
  return undefined
}
