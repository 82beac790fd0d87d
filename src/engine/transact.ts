/**
 * The way into transaction mode. It comes with the stores that have transactions and not with the
 * engine, so that apps on other stores do not carry it.
 *
 * @module
 */

import { SHUTTING_DOWN } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'
import { invalid } from '../core/options.ts'
import type { Context } from './context.ts'
import type { Job } from './job.ts'
import type { RunResult } from './result.ts'
import { settle, told } from './settle.ts'
import { type TransactionHandler, type TransactionOptions } from './transaction-handler.ts'
import { TransactionRuns } from './transaction-run.ts'
import type { ClaimTime, Isolation, Transactions } from './transactions.ts'

/** What is to be run in a transaction, and in whose. */
export interface TransactionTask<Tx> {
  readonly transactions: Transactions<Tx>
  readonly handler: TransactionHandler<Tx>
  readonly options: TransactionOptions<Tx>
}

/** Runs a request in a transaction; see {@link transact}. */
export type Transact = <Tx>(
  context: Context<Tx>,
  job: Job,
  task: TransactionTask<Tx>,
) => Promise<RunResult>

/** What a route says that may not go with transactions. */
export interface TransactionRoute {
  readonly failOpen?: boolean
  readonly streams?: 'buffer' | 'bypass'
  readonly claim?: ClaimTime
  readonly transaction?: boolean | Isolation
}

/** Checks a route; see {@link checkTransactionRoute}. */
export type CheckTransactionRoute = (route: TransactionRoute) => void

/**
 * Checks what a route in transaction mode says besides. A store with transactions names it as their
 * `check`.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function checkTransactionRoute(route: TransactionRoute): void {
  const { failOpen, streams, claim, transaction } = route
  if (!TRANSACTIONS.has(transaction)) {
    throw invalid(
      `transaction must be true, false, 'read committed', 'repeatable read' or 'serializable', not ${JSON.stringify(transaction)}`,
    )
  }
  if (claim !== undefined && !transaction) throw invalid('claim is set, and transaction is not')
  if (failOpen === true) {
    throw invalid('failOpen and transaction exclude each other: a handler without store has no tx')
  }
  if (streams === 'bypass') {
    throw invalid(
      `streams: 'bypass' and transaction exclude each other: the answer has to be whole to be committed`,
    )
  }
  checkClaim({ claim })
}

const TRANSACTIONS: ReadonlySet<unknown> = new Set([
  ...[undefined, true, false, 'read committed', 'repeatable read', 'serializable'],
])

const CLAIM_TIMES: ReadonlySet<unknown> = new Set(['first', 'with-first-statement'])

function checkClaim({
  claim = 'first',
  join,
}: {
  claim?: ClaimTime | undefined
  join?: unknown
}): void {
  if (!CLAIM_TIMES.has(claim)) throw invalid(`claim is 'first' or 'with-first-statement'`)
  if (claim === 'with-first-statement' && join !== undefined) {
    throw invalid(
      `claim: 'with-first-statement' and join exclude each other: a joined transaction is begun already`,
    )
  }
}

/**
 * Runs a request in a transaction. A store with transactions names it as their `run`.
 *
 * @throws RepriseError `reprise-options-invalid`
 */
export function transact<Tx>(
  context: Context<Tx>,
  job: Job,
  { transactions, handler, options }: TransactionTask<Tx>,
): Promise<RunResult> {
  checkClaim(options)
  const runs = new TransactionRuns(context, transactions)
  const start = () => runs.start(job, handler, options)
  if (options.join === undefined) return settle(context, job, start)
  // A joined transaction is not over when this returns: nobody may share its answer yet.
  if (context.isClosing) return told(context, job, Promise.reject(new RepriseError(SHUTTING_DOWN)))
  return told(context, job, start().ended)
}
