/**
 * Transactions of Drizzle, over pg, postgres.js or PGlite.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { Row, TransactionSource } from './source.ts'

/** What is used of a Drizzle database. */
export interface DrizzleDatabase<Tx> {
  transaction<T>(
    work: (tx: Tx) => Promise<T>,
    config?: { isolationLevel?: Isolation },
  ): Promise<unknown>
}

/** What Drizzle executes: anything that can be asked for its SQL. */
export interface DrizzleQuery {
  getSQL(): never
}

/** What is used of a Drizzle transaction, in which others can be nested. */
export interface DrizzleTransaction<Tx> extends DrizzleDatabase<Tx> {
  execute(query: DrizzleQuery): PromiseLike<unknown>
}

/**
 * Has handlers and phases run in transactions of Drizzle: `tx` is what `db.transaction` gives its
 * callback.
 *
 * @example
 * ```ts
 * const db = drizzle(pool, { schema })
 * const store = postgresStore(pool, { transactions: drizzleTransactions(db) })
 * ```
 */
export function drizzleTransactions<Tx extends DrizzleTransaction<Tx>>(
  db: DrizzleDatabase<Tx>,
): TransactionSource<Tx> {
  return {
    transaction(work, isolation) {
      let over: Error | undefined
      const config = isolation && { isolationLevel: isolation }
      const ended = db.transaction((tx) => work(guard(tx, () => over)), config)
      ended.then(
        () => {
          over = new Error('The transaction is over.')
        },
        (error: Error) => {
          over = error
        },
      )
      return ended
    },
    async query(tx, text, values) {
      const result: unknown = await tx.execute(queryOf(text, [...values]))
      // pg and PGlite give an object with the rows in it, postgres.js the rows.
      return (Array.isArray(result) ? result : (result as { rows: unknown }).rows) as readonly Row[]
    },
    // postgres.js fails the whole of a transaction unless a savepoint was its own.
    nested: (tx, work) => tx.transaction(work),
  }
}

/** A text with its values. Drizzle's own `sql` would number them anew. */
function queryOf(sql: string, params: readonly unknown[]): DrizzleQuery {
  const query = { getSQL: () => query, toQuery: () => ({ sql, params }) }
  // What Drizzle asks of its SQL is to be made a query.
  return query as unknown as DrizzleQuery
}

/**
 * The transaction as the user gets it: refuses to work once it is over. On postgres.js it ends when
 * its connection breaks, and statements would go to whatever connection comes next.
 */
function guard<Tx extends DrizzleTransaction<Tx>>(target: Tx, over: () => Error | undefined): Tx {
  return new Proxy(target, {
    get(tx, name) {
      const error = over()
      if (error !== undefined) throw error
      if (name !== 'transaction') return Reflect.get(tx, name)
      // What is nested ends with what it is nested in.
      const nest: Tx['transaction'] = (work, config) =>
        tx.transaction((inner) => work(guard(inner, over)), config)
      return nest
    },
  })
}
