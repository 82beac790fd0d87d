import { it } from 'vitest'
import { type AdapterHarness, adapterContract } from '../../src/testing/adapter-contract.ts'

/** How long one check may take, in milliseconds. */
export const CHECK_TIMEOUT_MS = 30_000

/**
 * One test for each check of the contract.
 *
 * @param left - checks that can not be kept, by name
 */
export function testContract(harness: AdapterHarness, left = /^$/): void {
  for (const { name, check, appliesTo } of adapterContract) {
    const applies = (appliesTo?.(harness) ?? true) && !left.test(name)
    it.skipIf(!applies)(name, { timeout: CHECK_TIMEOUT_MS }, () => check(harness))
  }
}
