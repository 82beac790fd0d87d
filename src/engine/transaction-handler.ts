/**
 * The handler's side of transaction mode.
 *
 * @module
 */

import { checkResource } from '../core/kept-text.ts'
import type { VerdictOverride } from '../core/policy.ts'
import type { Resource } from '../core/record.ts'
import type { CapturedResponse } from '../core/response.ts'
import { PendingWork } from './pending-work.ts'
import { type Stage, stageOn } from './stage.ts'
import type { ClaimTime, Isolation, OpenTransaction } from './transactions.ts'

/** What a handler in transaction mode is given. */
export interface TransactionRun<Tx> {
  /** The transaction: what is done on it takes effect if and only if the answer is stored. */
  readonly tx: Tx
  /** Stages a job that is handed to a queue after the commit. PostgreSQL only. */
  readonly stage: Stage
  /**
   * Notes what the request makes, for look-ups later. Type and id have at most 1,024 characters, and no
   * NUL character.
   *
   * @throws TypeError
   */
  setResource(resource: Resource): void
  /** Has this answer stored and the transaction committed, whatever the policy says. */
  store(): void
  /** Rolls back and frees the key after this answer, whatever the policy says. */
  release(): void
  /**
   * Says that the handler goes on until `work` settles, whatever it answers before. Until then an
   * answer that is not stored does not free the key. The adapters say it of the promise that a handler
   * returns.
   */
  holdUntil(work: PromiseLike<unknown>): void
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
  /**
   * When the key is claimed. `'with-first-statement'` holds `begin` and the claim back until the
   * handler's first statement on `tx` and sends all three in one flight: two round trips where even
   * an unprotected handler takes three. What the handler does before that statement is then done for
   * duplicates as well, so it must have no effect. A duplicate's statement is not executed: it
   * rejects with `DuplicateRequest`, and what the handler makes of that is discarded. Works with a
   * `Pool` of pg that has `pipeline: true`, without a `quota`, at any isolation but `serializable`;
   * everywhere else the key is claimed first. Not with {@link join}.
   *
   * @default 'first': before the handler runs
   */
  readonly claim?: ClaimTime
  /**
   * Whether each handler whose claim goes with its first statement is run twice, the first time as
   * that of a duplicate, so that an effect before the first statement shows: it happens twice. Only
   * where the handler may be run again.
   *
   * @default whether NODE_ENV is `development`
   */
  readonly rehearse?: boolean
}

/** The handler's side of one run. */
export class HandlerRun<Tx> implements TransactionRun<Tx> {
  readonly tx: Tx
  readonly stage: Stage
  /** What the handler still does, whatever it has answered. */
  readonly pending: PendingWork = new PendingWork()
  resource: Resource | null = null
  override: VerdictOverride | undefined
  readonly #open: OpenTransaction<Tx>

  constructor(open: OpenTransaction<Tx>) {
    this.#open = open
    this.tx = open.tx
    this.stage = stageOn(open)
  }

  /** Whether the claim was refused with the first statement: nothing of this run counts. */
  get isRefused(): boolean {
    return this.#open.held?.isGranted === false
  }

  setResource(resource: Resource): void {
    checkResource(resource)
    this.resource = resource
  }

  store(): void {
    this.override = 'store'
  }

  release(): void {
    this.override = 'forget'
  }

  holdUntil(work: PromiseLike<unknown>): void {
    this.pending.add(work)
  }
}
