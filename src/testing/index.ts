/**
 * What tests of stores, and of programs that use Reprise, are built on. Bound to no test runner.
 *
 * @module
 */

export { FakeClock } from './fake-clock.ts'
export type {
  StoreCheck,
  StoreHarness,
  TransactionCheck,
  TransactionHarness,
} from './harness.ts'
export { storeContract } from './store-contract.ts'
export { transactionContract } from './transaction-contract.ts'
