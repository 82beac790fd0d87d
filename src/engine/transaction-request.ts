/**
 * What a store is told of the transaction that it is to open.
 *
 * @module
 */

import type { Job } from './job.ts'
import type { TransactionOptions } from './transaction-handler.ts'
import type { ClaimTime, TransactionRequest } from './transactions.ts'

/** The request of `job`, claimed at the time of `claim`. */
export function transactionRequest<Tx>(
  job: Job,
  options: TransactionOptions<Tx>,
  claim: ClaimTime | undefined,
): TransactionRequest<Tx> {
  const { identity, fingerprint, fingerprints, owner, origin } = job
  const { leaseMs, afterCrash } = job.options
  return {
    id: identity.id,
    caller: identity.caller,
    operation: identity.operation,
    key: identity.key,
    fingerprint,
    fingerprintsAccepted: fingerprints,
    owner,
    origin,
    quota: job.quota,
    leaseMs,
    takesUnknown: afterCrash === 'rerun',
    isolation: options.isolation,
    join: options.join,
    connection: options.connection,
    claim,
  }
}
