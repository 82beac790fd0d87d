/**
 * Drizzle and Kysely as hostile handlers use them: their own ways to add a row, and transactions inside
 * transactions. Apart from the other ORMs, because these can be bundled.
 *
 * @module
 */

import { sql as drizzleSql } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, text } from 'drizzle-orm/pg-core'
import { drizzle as drizzleOnSql, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import { Kysely, PostgresDialect, sql, type Transaction } from 'kysely'
import pg from 'pg'
import postgres from 'postgres'
import { drizzleTransactions } from '../../src/stores/postgres/handles/drizzle.ts'
import { kyselyTransactions } from '../../src/stores/postgres/handles/kysely.ts'
import { postgresStore, type TransactionSource } from '../../src/stores/postgres/index.ts'
import { anyStore, statementsOf } from '../hostile/handlers/pg.ts'
import { type Connections, FAIL, type PostgresKind } from '../hostile/handlers/postgres.ts'
import type { Abilities } from '../hostile/handlers/program.ts'
import { ON_A_SERVER, type Statements } from '../hostile/handlers/world.ts'

const effects = pgTable('effects', {
  key: text().notNull(),
  run: text().notNull(),
  name: text().notNull(),
})
const schema = { effects }

type TransactionOf<Db extends { transaction(work: never): unknown }> = Parameters<
  Db['transaction']
>[0] extends (tx: infer Tx) => unknown
  ? Tx
  : never
type PgTx = TransactionOf<NodePgDatabase<typeof schema>>
type SqlTx = TransactionOf<PostgresJsDatabase<typeof schema>>

interface Database {
  readonly effects: { readonly key: string; readonly run: string; readonly name: string }
}

/** The store has a pool of its own; `end` ends what the ORM has besides. */
export function connections<Tx>(
  pool: pg.Pool,
  orm: { transactions: TransactionSource<Tx>; statements: Statements; end?: () => unknown },
): Connections {
  const store = anyStore(postgresStore(pool, { transactions: orm.transactions, listen: false }))
  return {
    ...{ store, statements: orm.statements },
    async end() {
      await orm.end?.()
      await pool.end()
    },
  }
}

/** A pool that survives the end of its connections. */
export function poolOf(connectionString: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString, max })
  pool.on('error', () => {})
  return pool
}

/** What ORMs can do: the transaction is theirs to end. */
export const abilities: Abilities = { ...ON_A_SERVER, ends: false }

const drizzleOnPg: PostgresKind = {
  ...{ name: 'drizzle', abilities },
  async connect(url, { pool: max }) {
    const pool = poolOf(url, max)
    const statements = statementsOf<PgTx>({
      insert: (tx, row) => tx.insert(effects).values(row),
      fail: (tx) => tx.execute(drizzleSql.raw(FAIL)),
      nested: (tx, work) => tx.transaction((inner) => work(inner)),
    })
    return connections(pool, {
      transactions: drizzleTransactions(drizzle(pool, { schema })),
      statements,
    })
  },
}

const drizzleOnPostgresJs: PostgresKind = {
  ...{ name: 'drizzle-postgres-js', abilities },
  async connect(url, { pool: max }) {
    const client = postgres(url, { max, onnotice: () => {} })
    const statements = statementsOf<SqlTx>({
      insert: (tx, row) => tx.insert(effects).values(row),
      fail: (tx) => tx.execute(drizzleSql.raw(FAIL)),
      nested: (tx, work) => tx.transaction((inner) => work(inner)),
    })
    const transactions = drizzleTransactions(drizzleOnSql(client, { schema }))
    const end = () => client.end({ timeout: 1 })
    return connections(poolOf(url, max), { transactions, statements, end })
  },
}

const kysely: PostgresKind = {
  ...{ name: 'kysely', abilities: { ...abilities, nested: false } },
  async connect(url, { pool: max }) {
    const pool = poolOf(url, max)
    const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
    const statements = statementsOf<Transaction<Database>>({
      insert: (tx, row) => tx.insertInto('effects').values(row).execute(),
      fail: (tx) => sql.raw(FAIL).execute(tx),
    })
    return connections(pool, { transactions: kyselyTransactions(db), statements })
  },
}

/** The kinds of this file. */
export const BUNDLED: readonly PostgresKind[] = [drizzleOnPg, drizzleOnPostgresJs, kysely]
