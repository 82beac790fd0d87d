import { afterAll, beforeAll, describe, it } from 'vitest'
import type { StoreHarness, TransactionHarness } from '../../src/testing/harness.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { transactionContract } from '../../src/testing/transaction-contract.ts'
import { runDifferential } from './differential.ts'

/** Histories of the differential test, for each store. */
const HISTORIES = Number(process.env['REPRISE_HISTORIES'] ?? 150)
/** Seed of the histories. */
const SEED = Number(process.env['REPRISE_SEED'] ?? 20_260_101)

/** A harness with its end: what was opened for it is closed, what was created is dropped. */
export interface Disposable {
  dispose?(): Promise<void>
}

/** Makes a harness; called once, before the first test. */
export type Make<Harness> = () => Promise<Harness & Disposable>

const TIMEOUT_MS = 120_000

/** Runs the contract of a store, one harness for all checks. */
export function describeContract(name: string, make: Make<StoreHarness>): void {
  describe(`${name} keeps the contract of a store:`, () => {
    const harness = useHarness(make)

    for (const { name, check } of storeContract) {
      it(name, { timeout: TIMEOUT_MS }, () => check(harness()))
    }
  })
}

/** Runs the contract of a store's transactions, one harness for all checks. */
export function describeTransactions(name: string, make: Make<TransactionHarness>): void {
  describe(`${name} keeps the contract of transactions:`, () => {
    const harness = useHarness(make)

    for (const { name, check } of transactionContract) {
      it(name, { timeout: TIMEOUT_MS }, () => check(harness()))
    }
  })
}

/**
 * Runs random histories through the store and through the model. With more than one lane, `advance`
 * has to keep to the ids given.
 */
export function describeDifferential(
  name: string,
  make: Make<StoreHarness>,
  { lanes = 8 }: { readonly lanes?: number } = {},
): void {
  describe(`${name} equals the model`, () => {
    const harness = useHarness(make)

    it(`in ${HISTORIES} random histories`, { timeout: TIMEOUT_MS + 100 * HISTORIES }, () =>
      runDifferential({ harness: harness(), seed: SEED, histories: HISTORIES, lanes }),
    )
  })
}

function useHarness<Harness>(make: Make<Harness>): () => Harness {
  let harness: (Harness & Disposable) | undefined
  beforeAll(async () => {
    harness = await make()
  }, TIMEOUT_MS)
  afterAll(async () => {
    await harness?.dispose?.()
  }, TIMEOUT_MS)
  return () => {
    if (harness === undefined) throw new Error('The harness is made before the first test.')
    return harness
  }
}
