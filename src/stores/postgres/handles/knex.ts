/**
 * Transactions of Knex.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { AppAccess } from '../access/app-access.ts'
import { guardPgConnection } from '../access/pg-connection.ts'
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
  /** Its type is Knex's `any`. */
  client: unknown
}

/** What is used of the client of a transaction, of which there is one for each. */
interface KnexClient {
  raw(text: string, bindings: Value[]): PromiseLike<{ readonly rows: readonly object[] }>
  query(connection: object, query: unknown): Promise<unknown>
  stream(connection: object, ...rest: unknown[]): Promise<unknown>
  acquireConnection(): Promise<object>
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
      const escaped = text.replaceAll('?', '\\?')
      const unnumbered = escaped.replaceAll(/\$(\d+)/g, (_, number: string) => {
        bindings.push(values[Number(number) - 1] ?? null)
        return '?'
      })
      return (await clientOf(tx).raw(unnumbered, bindings)).rows
    },
    guard,
  }
}

type Nest = (work?: unknown, config?: unknown) => PromiseLike<unknown>

/** What the functions of a transaction work on. It is no part of its type, and there since 0.95. */
interface Context {
  readonly client: KnexClient
  queryBuilder(): { table(...values: unknown[]): unknown }
  transaction: Nest
}

function clientOf(tx: KnexTransaction): KnexClient {
  // Its type is `any`; every transaction has a client of its own.
  return tx.client as KnexClient
}

/**
 * The transaction on another context, whose client asks. Builders, schemas and raw queries are made of the
 * client and send by it; the COMMIT and ROLLBACK of Knex itself keep to the client that was there.
 */
function guard<Tx extends KnexTransaction>(tx: Tx, access: AppAccess): Tx {
  // Every transaction has one.
  const own = Reflect.get(tx, 'context') as Context
  const context: Context = Object.assign(Object.create(own), {
    client: guardClient(clientOf(tx), access),
    transaction: nesting((...values) => own.transaction(...values), access),
  })
  const ending = (end: Ending) => (value?: unknown) => access.send(async () => end(value))
  return new Proxy(tx, {
    // As Knex does, `trx('table')` begins a query.
    apply: (_target, _self, values: unknown[]) =>
      values.length === 0 ? context.queryBuilder() : context.queryBuilder().table(...values),
    get(target, name, receiver) {
      if (name === 'context') return context
      if (name === 'savepoint') return context.transaction
      // Its getters and functions work on the context of what they are called on.
      const value: unknown = Reflect.get(target, name, receiver)
      const isEnding = (name === 'commit' || name === 'rollback') && typeof value === 'function'
      // They take a value or an error.
      return isEnding ? ending(value as Ending) : value
    },
  })
}

type Ending = (value?: unknown) => unknown

function guardClient(client: KnexClient, access: AppAccess): KnexClient {
  const connections = new WeakMap<object, object>()
  const given = (connection: object) => connections.get(connection) ?? connection
  const made: KnexClient = Object.create(client)
  return Object.assign(made, {
    query: (connection: object, query: unknown) =>
      access.send(() => client.query(given(connection), query)),
    stream: (connection: object, ...rest: unknown[]) =>
      access.send(() => client.stream(given(connection), ...rest)),
    async acquireConnection() {
      const connection = await client.acquireConnection()
      const guarded = guardPgConnection(connection, access)
      connections.set(guarded, connection)
      return guarded
    },
  })
}

/** Opens nested transactions: around a callback, or ones that the app's code has to end itself. */
function nesting(open: Nest, access: AppAccess): Nest {
  return (work, config) => {
    if (typeof work === 'function') {
      return access.nest<KnexTransaction, unknown>(
        (within) => open(within, config),
        (inner) => work(guard(inner, access)),
      )
    }
    return access.send(async () => {
      const leave = access.enter()
      // Without a callback it gives the transaction.
      const inner = (await open(work, config)) as KnexTransaction
      const ended: unknown = Reflect.get(inner, 'executionPromise')
      Promise.resolve(ended).then(leave, leave)
      return guard(inner, access)
    })
  }
}
