/**
 * Transactions of Drizzle, over pg, postgres.js or PGlite.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { AppAccess } from '../access/app-access.ts'
import { guardCalls } from '../access/calls.ts'
import { guardPgConnection } from '../access/pg-connection.ts'
import { guardPostgresJs } from '../access/postgres-js.ts'
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
    transaction: (work, isolation) =>
      db.transaction(work, isolation && { isolationLevel: isolation }),
    async query(tx, text, values) {
      const result: unknown = await tx.execute(queryOf(text, [...values]))
      // pg and PGlite give an object with the rows in it, postgres.js the rows.
      return (Array.isArray(result) ? result : (result as { rows: unknown }).rows) as readonly Row[]
    },
    // postgres.js fails the whole of a transaction unless a savepoint was its own.
    nested: (tx, work) => tx.transaction(work),
    guard,
  }
}

/** A text with its values. Drizzle's own `sql` would number them anew. */
function queryOf(sql: string, params: readonly unknown[]): DrizzleQuery {
  const query = { getSQL: () => query, toQuery: () => ({ sql, params }) }
  // What Drizzle asks of its SQL is to be made a query.
  return query as unknown as DrizzleQuery
}

/**
 * The transaction with another session, whose client is guarded: every statement leaves by
 * `session.client`, also that of a builder or a prepared query that was made before.
 */
function guard<Tx extends DrizzleTransaction<Tx>>(tx: Tx, access: AppAccess): Tx {
  const session = guardSession(member(tx, 'session'), access)
  const known = member(tx, '_')
  const query = member(tx, 'query')
  const builders = Object.entries(query).map(([name, builder]: [string, object]) => {
    return [name, like(builder, { session })] as const
  })
  const guarded = like(tx, {
    session,
    ...('session' in known && { _: like(known, { session }) }),
    query: like(query, Object.fromEntries(builders)),
    transaction: (work: (inner: Tx) => Promise<unknown>, config: unknown) =>
      access.nest<Tx, unknown>(
        // In `like`, so that what is nested has the guarded session.
        async (within) => Reflect.apply(tx.transaction, guarded, [within, config]),
        (inner) => work(guard(inner, access)),
      ),
  })
  return guarded
}

function guardSession(session: object, access: AppAccess): object {
  const client = guardClient(member(session, 'client'), access)
  return like(session, {
    client,
    // What is prepared asks by itself too: Drizzle wraps the errors of the client.
    prepareQuery(...values: unknown[]) {
      const prepare: unknown = Reflect.get(session, 'prepareQuery')
      const prepared: unknown =
        typeof prepare === 'function' && Reflect.apply(prepare, like(session, { client }), values)
      return typeof prepared === 'object' && prepared !== null
        ? guardPrepared(prepared, access)
        : prepared
    },
  })
}

function guardPrepared(prepared: object, access: AppAccess): object {
  const asking = ['execute', 'all', 'values'].map((name) => {
    const value: unknown = Reflect.get(prepared, name)
    if (typeof value !== 'function') return {}
    return {
      [name]: (...values: unknown[]) =>
        access.send(async () => Reflect.apply(value, prepared, values)),
    }
  })
  return like(prepared, Object.assign({}, ...asking))
}

/** What the session sends by: a connection of pg, a transaction of postgres.js or one of PGlite. */
function guardClient(client: object, access: AppAccess): object {
  if (typeof client === 'function') return guardPostgresJs(client, access)
  return 'release' in client || 'connection' in client
    ? guardPgConnection(client, access)
    : guardCalls(client, access)
}

/** An object that is as `target` but for some members. */
function like<T extends object>(target: T, members: object): T {
  // It inherits everything from `target`.
  const made = Object.create(target) as T
  for (const [name, value] of Object.entries(members)) {
    Object.defineProperty(made, name, { value, configurable: true, writable: true })
  }
  return made
}

function member(object: object, name: string): object {
  const value: unknown = Reflect.get(object, name)
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function'
  if (isObject) return value
  throw new TypeError(`A transaction of Drizzle has no ${name}.`)
}
