/**
 * What tests of stores, of adapters, and of programs that use Reprise are built on. Bound to no test
 * runner.
 *
 * @module
 */

export {
  type AdapterCheck,
  type AdapterHarness,
  type AdapterSpec,
  adapterContract,
  type Deed,
  type DeedBody,
  type DeedHandler,
  type DeedHead,
  type DeedRequest,
  type ParserPlace,
  ROUTES,
  type Served,
  type TransactionalStore,
} from './adapter-contract.ts'
export { FakeClock } from './fake-clock.ts'
export type {
  StoreCheck,
  StoreHarness,
  TransactionCheck,
  TransactionHarness,
} from './harness.ts'
export { storeContract } from './store-contract.ts'
export { transactionContract } from './transaction-contract.ts'
