/**
 * Transactions of Kysely.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { TransactionSource } from './source.ts'

/** What is used of a `TransactionBuilder`. */
export interface KyselyBuilder<Tx> {
  setIsolationLevel(level: Isolation): KyselyBuilder<Tx>
  execute<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

/** What is used of a `Kysely`. */
export interface KyselyDatabase<Tx> {
  transaction(): KyselyBuilder<Tx>
}

/** A compiled query, as `CompiledQuery.raw` makes it. */
export interface KyselyQuery {
  readonly sql: string
  readonly parameters: readonly unknown[]
  readonly query: {
    readonly kind: 'RawNode'
    readonly sqlFragments: readonly string[]
    readonly parameters: readonly never[]
  }
  readonly queryId: { readonly queryId: string }
}

/** What is used of a `Transaction`. */
export interface KyselyTransaction {
  executeQuery(query: KyselyQuery): Promise<{ readonly rows: readonly unknown[] }>
}

/**
 * Has handlers and phases run in transactions of Kysely: `tx` is its `Transaction<DB>`.
 *
 * @example
 * ```ts
 * const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
 * const store = postgresStore(pool, { transactions: kyselyTransactions(db) })
 * ```
 */
export function kyselyTransactions<Tx extends KyselyTransaction>(
  db: KyselyDatabase<Tx>,
): TransactionSource<Tx> {
  return {
    transaction(work, isolation) {
      const builder = db.transaction()
      return (isolation === undefined ? builder : builder.setIsolationLevel(isolation)).execute(
        work,
      )
    },
    async query(tx, sql, parameters) {
      const query = { kind: 'RawNode', sqlFragments: [sql], parameters: [] } as const
      const { rows } = await tx.executeQuery({ sql, parameters, query, queryId: { queryId: sql } })
      // Rows of PostgreSQL are objects.
      return rows as readonly object[]
    },
  }
}
