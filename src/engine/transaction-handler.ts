/**
 * The handler's side of transaction mode.
 *
 * @module
 */

import type { VerdictOverride } from '../core/policy.ts'
import type { Resource } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import { type Stage, stageOn } from './stage.ts'
import type { Isolation, OpenTransaction } from './transactions.ts'

/** What a handler in transaction mode is given. */
export interface TransactionRun<Tx> {
  /** The transaction: what is done on it takes effect if and only if the answer is stored. */
  readonly tx: Tx
  /** Stages a job that is handed to a queue after the commit. PostgreSQL only. */
  readonly stage: Stage
  /** Notes what the request makes, for look-ups later. */
  setResource(resource: Resource): void
  /** Has this answer stored and the transaction committed, whatever the policy says. */
  store(): void
  /** Rolls back and frees the key after this answer, whatever the policy says. */
  release(): void
}

/** Does what the request asks for, on `tx`. */
export type TransactionHandler<Tx> = (run: TransactionRun<Tx>) => Promise<CapturedResponse>

/** How the transaction is opened. */
export interface TransactionOptions<Tx> {
  /**
   * Isolation of the transaction.
   *
   * @default the database's own default
   */
  readonly isolation?: Isolation
  /**
   * A transaction of yours to join: you begin and commit it, and send the answer only after your
   * commit. Nothing is retried; a failure is yours to roll back.
   *
   * @default the transaction is opened, committed and retried here
   */
  readonly join?: Tx
  /**
   * A connection of yours to begin and commit on.
   *
   * @default one from the store's client
   */
  readonly connection?: Tx
}

/** The handler's side of one run. */
export class HandlerRun<Tx> implements TransactionRun<Tx> {
  readonly tx: Tx
  readonly stage: Stage
  resource: Resource | null = null
  override: VerdictOverride | undefined

  constructor(open: OpenTransaction<Tx>) {
    this.tx = open.tx
    this.stage = stageOn(open)
  }

  setResource(resource: Resource): void {
    this.resource = resource
  }

  store(): void {
    this.override = 'store'
  }

  release(): void {
    this.override = 'forget'
  }
}
