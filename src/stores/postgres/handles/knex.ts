/**
 * Transactions of Knex.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { Value } from '../client.ts'
import type { TransactionSource } from './source.ts'

/** What is used of a `Knex`. */
export interface KnexDatabase<Tx> {
  transaction<T>(
    work: (tx: Tx) => Promise<T>,
    config?: { isolationLevel?: Isolation },
  ): Promise<unknown>
}

/** What is used of a `Knex.Transaction`. */
export interface KnexTransaction {
  raw(text: string, bindings: Value[]): PromiseLike<{ readonly rows: readonly object[] }>
}

/**
 * Has handlers and phases run in transactions of Knex: `tx` is its `Knex.Transaction`.
 *
 * @example
 * ```ts
 * const db = knex({ client: 'pg', connection })
 * const store = postgresStore(pool, { transactions: knexTransactions(db) })
 * ```
 */
export function knexTransactions<Tx extends KnexTransaction>(
  db: KnexDatabase<Tx>,
): TransactionSource<Tx> {
  return {
    transaction: (work, isolation) =>
      db.transaction(work, isolation === undefined ? {} : { isolationLevel: isolation }),
    async query(tx, text, values) {
      // Knex numbers placeholders itself, by their order.
      const bindings: Value[] = []
      const unnumbered = text.replaceAll(/\$(\d+)/g, (_, number: string) => {
        bindings.push(values[Number(number) - 1] ?? null)
        return '?'
      })
      return (await tx.raw(unnumbered, bindings)).rows
    },
  }
}
