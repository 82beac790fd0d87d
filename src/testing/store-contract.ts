/**
 * The contract of `Store` as a list of checks.
 *
 * They throw on failure and know nothing of test runners. Each makes records of its own, so they
 * may run on one store one after another; `sweep`, `stats` and the time are the store's as a whole,
 * so they must not run at once.
 *
 * @module
 */

import { claimChecks } from './contract/claim.ts'
import { expiryChecks } from './contract/expiry.ts'
import { fenceChecks } from './contract/fence.ts'
import { findChecks } from './contract/find.ts'
import { finishChecks } from './contract/finish.ts'
import { holderChecks } from './contract/holder.ts'
import { leaseChecks } from './contract/lease.ts'
import { listChecks } from './contract/list.ts'
import { mismatchChecks } from './contract/mismatch.ts'
import { operatorChecks } from './contract/operators.ts'
import { payloadChecks } from './contract/payload.ts'
import { quotaChecks } from './contract/quota.ts'
import { watchChecks } from './contract/watch.ts'
import type { StoreCheck } from './harness.ts'

/** What every store does. */
export const storeContract: readonly StoreCheck[] = [
  ...claimChecks,
  ...mismatchChecks,
  ...leaseChecks,
  ...holderChecks,
  ...fenceChecks,
  ...finishChecks,
  ...expiryChecks,
  ...quotaChecks,
  ...payloadChecks,
  ...findChecks,
  ...listChecks,
  ...operatorChecks,
  ...watchChecks,
]
