/**
 * Where the transactions come from in which the app's own code runs: the app's ORM.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { AppAccess } from '../access/app-access.ts'
import type { Value } from '../client.ts'

/** A row: the columns by name, or as an array; either way in the order of the statement. */
export type Row = object | readonly unknown[]

/**
 * Transactions of an ORM, or of anything else that opens them around a callback. The store commits
 * its record in them, and hands `Tx` to handlers and phases.
 *
 * @typeParam Tx - what the ORM gives its callback
 *
 * @example
 * ```ts
 * const transactions: TransactionSource<EntityManager> = {
 *   transaction: (work, isolation) =>
 *     isolation ? source.transaction(LEVELS[isolation], work) : source.transaction(work),
 *   query: (tx, text, values) => tx.query(text, [...values]),
 * }
 * ```
 */
export interface TransactionSource<Tx> {
  /**
   * Opens a transaction around `work`: commits when that resolves, and rolls back and rejects when it
   * rejects. Resolves only after the server has committed. Must not call `work` a second time.
   *
   * @param isolation - `undefined` for the database's default
   */
  transaction(
    work: (tx: Tx) => Promise<void>,
    isolation: Isolation | undefined,
  ): PromiseLike<unknown>
  /** Executes one statement in the transaction; `$1`, `$2` … in the text stand for the values. */
  query(tx: Tx, text: string, values: readonly Value[]): PromiseLike<readonly Row[]>
  /**
   * Opens a part of a transaction that can be undone alone.
   *
   * @default a savepoint, by {@link TransactionSource.query}
   */
  nested?(tx: Tx, work: (tx: Tx) => Promise<void>): PromiseLike<unknown>
  /**
   * Makes what handlers and phases are given in the place of `tx`. Whatever of them still runs after they
   * have answered or thrown must reach the connection no more, because it serves another request by then.
   * So every statement that leaves by what is given, or by anything that can be reached from it (query
   * builders, prepared statements, nested transactions, the connection), has to ask `access` first; most
   * libraries have one place through which all of them pass. The store's own statements, by
   * {@link TransactionSource.query} on `tx` itself, and the library's COMMIT and ROLLBACK must not.
   *
   * @default a wrapper that asks at every call of a member of `tx`, of what such a call gives, and of what
   * `transaction`, `$transaction` and `savepoint` give their callback; promises count as under way until
   * they settle. It does not see what promises resolve to, nor what other callbacks are given
   */
  guard?(tx: Tx, access: AppAccess): Tx
}
