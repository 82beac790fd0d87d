import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, serial, text } from 'drizzle-orm/pg-core'
import { drizzle as drizzleOnSql, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { expectTypeOf, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { drizzleTransactions } from '../../src/stores/postgres/handles/drizzle.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeOrm } from './suite.ts'

const effects = pgTable('effects', { id: serial().primaryKey(), name: text().notNull() })
const schema = { effects }

type TransactionOf<Db extends { transaction(work: never): unknown }> = Parameters<
  Db['transaction']
>[0] extends (tx: infer Tx) => unknown
  ? Tx
  : never
type PgTx = TransactionOf<NodePgDatabase<typeof schema>>
type SqlTx = TransactionOf<PostgresJsDatabase<typeof schema>>

describeOrm<PgTx>('Drizzle on pg', (_, pool) => {
  const db = drizzle(pool, { schema })
  return {
    transactions: drizzleTransactions(db),
    insert: (tx, name) => tx.insert(effects).values({ name }),
    count: async (tx) => (await tx.query.effects.findMany()).length,
  }
})

describeOrm<SqlTx>('Drizzle on postgres.js', (url) => {
  const sql = postgres(url, { onnotice: () => {} })
  const db = drizzleOnSql(sql, { schema })
  return {
    transactions: drizzleTransactions(db),
    insert: (tx, name) => tx.insert(effects).values({ name }),
    count: async (tx) => (await tx.select().from(effects)).length,
    end: () => sql.end(),
  }
})

it('gives handlers a transaction of Drizzle', () => {
  const pool = new pg.Pool()
  const db = drizzle(pool, { schema })
  const store = postgresStore(pool, { transactions: drizzleTransactions(db) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<PgTx>>()
})
