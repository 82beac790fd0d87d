/**
 * Transactions of TypeORM.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { AppAccess } from '../access/app-access.ts'
import { guardPgConnection } from '../access/pg-connection.ts'
import type { TransactionSource } from './source.ts'

/** What is used of a `DataSource`. */
export interface TypeormDataSource<Tx> {
  transaction<T>(work: (manager: Tx) => Promise<T>): Promise<T>
  transaction<T>(isolation: Uppercase<Isolation>, work: (manager: Tx) => Promise<T>): Promise<T>
  createEntityManager(queryRunner?: never): Tx
}

/** What is used of an `EntityManager`. */
export interface TypeormManager {
  query(text: string, values: unknown[]): Promise<readonly object[]>
  readonly queryRunner?: TypeormRunner | undefined
}

/** What is used of a `QueryRunner`, of which a transaction has one. */
export interface TypeormRunner {
  connect(): Promise<unknown>
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
    // Its parameter is a `QueryRunner`, which the guarded one is like.
    guard: (tx, access) => source.createEntityManager(guardRunner(tx, access) as never),
  }
}

type Callee = (...values: unknown[]) => unknown

/**
 * The runner of the manager, on a guarded connection: every statement of managers, repositories and query
 * builders leaves by it. It counts nested transactions for itself, so that however many of them are left
 * open, TypeORM ends the transaction that it has begun.
 */
function guardRunner(tx: TypeormManager, access: AppAccess): object {
  const runner = tx.queryRunner
  if (runner === undefined) throw new TypeError('A transaction of TypeORM has a queryRunner.')
  const connection: unknown = Reflect.get(runner, 'databaseConnection')
  if (typeof connection !== 'object' || connection === null) {
    throw new TypeError('The queryRunner of TypeORM has no connection to PostgreSQL.')
  }
  const guarded: object = Object.create(runner)
  /** The runner's own method, which calls the others of the guarded one. */
  const asking =
    (name: string): Callee =>
    (...values) =>
      access.send(async () => Reflect.apply(Reflect.get(runner, name) as Callee, guarded, values))
  const nested: (() => void)[] = []
  const ending =
    (name: string): Callee =>
    async (...values) => {
      await asking(name)(...values)
      nested.pop()?.()
    }
  const broadcaster: unknown = Reflect.get(runner, 'broadcaster')
  return Object.assign(guarded, {
    databaseConnection: guardPgConnection(connection, access),
    // Refused by its guard, and not because TypeORM has given the connection back.
    isReleased: false,
    // Subscribers are given the runner and the manager of the broadcaster.
    ...(isObject(broadcaster) && {
      broadcaster: Object.assign(Object.create(broadcaster), { queryRunner: guarded }),
    }),
    query: asking('query'),
    stream: asking('stream'),
    async startTransaction(...values: unknown[]) {
      const leave = access.enter()
      try {
        await asking('startTransaction')(...values)
        nested.push(leave)
      } catch (error) {
        leave()
        throw error
      }
    },
    commitTransaction: ending('commitTransaction'),
    rollbackTransaction: ending('rollbackTransaction'),
    // The connection is TypeORM's to give back.
    release: async () => {},
  })
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
