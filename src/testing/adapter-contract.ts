/**
 * The contract of an adapter as a list of checks, over real HTTP.
 *
 * They throw on failure and know nothing of test runners. Each serves an app of its own.
 *
 * @module
 */

import { bodyChecks } from './adapter/bodies.ts'
import { captureChecks } from './adapter/capture.ts'
import { conflictChecks } from './adapter/conflict.ts'
import { disconnectChecks } from './adapter/disconnect.ts'
import { earlyChecks } from './adapter/early.ts'
import { eventChecks } from './adapter/events.ts'
import { faultChecks } from './adapter/faults.ts'
import type { AdapterCheck } from './adapter/harness.ts'
import { keyChecks } from './adapter/keys.ts'
import { markChecks } from './adapter/marks.ts'
import { misuseChecks } from './adapter/misuse.ts'
import { onceChecks } from './adapter/once.ts'
import { policyChecks } from './adapter/policy.ts'
import { streamChecks } from './adapter/streams.ts'
import { transactionChecks } from './adapter/transaction.ts'

export type {
  AdapterCheck,
  AdapterHarness,
  AdapterSpec,
  Deed,
  DeedBody,
  DeedHandler,
  DeedHead,
  DeedRequest,
  ParserPlace,
  Served,
  TransactionalStore,
} from './adapter/harness.ts'
export { ROUTES } from './adapter/harness.ts'

/** What every adapter does. */
export const adapterContract: readonly AdapterCheck[] = [
  ...onceChecks,
  ...conflictChecks,
  ...keyChecks,
  ...markChecks,
  ...captureChecks,
  ...streamChecks,
  ...bodyChecks,
  ...policyChecks,
  ...faultChecks,
  ...disconnectChecks,
  ...earlyChecks,
  ...transactionChecks,
  ...misuseChecks,
  ...eventChecks,
]
