/**
 * Transactions of Kysely.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { AppAccess } from '../access/app-access.ts'
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
  /** Its `QueryExecutor`, through which every statement of the transaction leaves. */
  getExecutor(): object
  readonly introspection: object
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
    guard,
  }
}

type Callee = (...values: unknown[]) => unknown

/**
 * A transaction that differs from `tx` only in its executor. Its constructor takes what Kysely's own
 * `withPlugin` gives it; of that a transaction uses nothing but the executor, and the dialect for its
 * introspection.
 */
function guard<Tx extends KyselyTransaction>(tx: Tx, access: AppAccess): Tx {
  const dialect = {
    createIntrospector: (db: object) => Reflect.construct(classOf(tx.introspection), [db]),
  }
  const executor = guardExecutor(tx.getExecutor(), access)
  // The same class gives the same kind of object.
  return Reflect.construct(classOf(tx), [{ config: {}, driver: {}, dialect, executor }]) as Tx
}

function classOf(object: object): new (...values: never[]) => object {
  // Every object of a class has it as its constructor.
  return object.constructor as new (
    ...values: never[]
  ) => object
}

/** The executor, and those that are made of it with other plugins. */
function guardExecutor<T extends object>(executor: T, access: AppAccess): T {
  return new Proxy(executor, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      // Every function takes values.
      const callee = value as Callee
      const call = (...values: unknown[]) => Reflect.apply(callee, target, values)
      if (name === 'executeQuery') return sending(call, access)
      if (name === 'stream') return streaming(call, access)
      if (name === 'provideConnection') {
        return (work: (connection: object) => unknown) =>
          access.send(async () =>
            call((connection: object) => work(guardConnection(connection, access))),
          )
      }
      if (typeof name !== 'string' || !name.startsWith('with')) return call
      // What these give is an executor again.
      return (...values: unknown[]) => guardExecutor(call(...values) as object, access)
    },
  })
}

/** The connection, as `provideConnection` gives it to the app's code, which may keep it. */
function guardConnection<T extends object>(connection: T, access: AppAccess): T {
  return new Proxy(connection, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name)
      if (typeof value !== 'function') return value
      // Every function takes values.
      const callee = value as Callee
      const call = (...values: unknown[]) => Reflect.apply(callee, target, values)
      return name === 'streamQuery' ? streaming(call, access) : sending(call, access)
    },
  })
}

function sending(call: Callee, access: AppAccess): (...values: unknown[]) => Promise<unknown> {
  return (...values) => access.send(async () => call(...values))
}

/** Each step of a stream asks; the first after the end of access closes the stream. */
function streaming(
  call: Callee,
  access: AppAccess,
): (...values: unknown[]) => AsyncIterableIterator<unknown> {
  return async function* (...values) {
    access.check()
    // A stream of Kysely is iterated.
    const steps = (call(...values) as AsyncIterable<unknown>)[Symbol.asyncIterator]()
    try {
      for (;;) {
        const step = await access.send(() => steps.next())
        if (step.done === true) return
        yield step.value
      }
    } finally {
      await steps.return?.()
    }
  }
}
