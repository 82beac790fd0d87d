/**
 * The contract of a store's `transactions` as a list of checks, for stores that have them.
 *
 * @module
 */

import { accessChecks } from './contract/access.ts'
import { beginChecks } from './contract/begin.ts'
import { commitChecks } from './contract/commit.ts'
import { heldChecks } from './contract/held.ts'
import { transactionQuotaChecks } from './contract/quota.ts'
import type { TransactionCheck } from './harness.ts'

/** What every store with transactions does. The checks must not run at once. */
export const transactionContract: readonly TransactionCheck[] = [
  ...commitChecks,
  ...beginChecks,
  ...transactionQuotaChecks,
  ...heldChecks,
  ...accessChecks,
]
