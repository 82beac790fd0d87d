/**
 * Transactions of TypeORM.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { TransactionSource } from './source.ts'

/** What is used of a `DataSource`. */
export interface TypeormDataSource<Tx> {
  transaction<T>(work: (manager: Tx) => Promise<T>): Promise<T>
  transaction<T>(isolation: Uppercase<Isolation>, work: (manager: Tx) => Promise<T>): Promise<T>
}

/** What is used of an `EntityManager`. */
export interface TypeormManager {
  query(text: string, values: unknown[]): Promise<readonly object[]>
}

/** As TypeORM writes them. */
const LEVELS: Readonly<Record<Isolation, Uppercase<Isolation>>> = {
  'read committed': 'READ COMMITTED',
  'repeatable read': 'REPEATABLE READ',
  serializable: 'SERIALIZABLE',
}

/**
 * Has handlers and phases run in transactions of TypeORM: `tx` is its `EntityManager`.
 *
 * @example
 * ```ts
 * const source = await new DataSource({ type: 'postgres', url, entities }).initialize()
 * const store = postgresStore(pool, { transactions: typeormTransactions(source) })
 * ```
 */
export function typeormTransactions<Tx extends TypeormManager>(
  source: TypeormDataSource<Tx>,
): TransactionSource<Tx> {
  return {
    transaction: (work, isolation) =>
      isolation === undefined
        ? source.transaction(work)
        : source.transaction(LEVELS[isolation], work),
    query: (tx, text, values) => tx.query(text, [...values]),
  }
}
