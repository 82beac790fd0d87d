import { PGlite } from '@electric-sql/pglite'
import { sql } from 'drizzle-orm'
import { drizzle, type NodePgDatabase } from 'drizzle-orm/node-postgres'
import { pgTable, serial, text } from 'drizzle-orm/pg-core'
import { drizzle as drizzleOnPglite } from 'drizzle-orm/pglite'
import { drizzle as drizzleOnSql, type PostgresJsDatabase } from 'drizzle-orm/postgres-js'
import pg from 'pg'
import postgres from 'postgres'
import { expectTypeOf, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { drizzleTransactions } from '../../src/stores/postgres/handles/drizzle.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeTransactions } from '../conformance/describe.ts'
import { harnessOf } from '../conformance/postgres.harness.ts'
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
    nested: (tx, work) => tx.transaction(work),
    async keep(tx, name) {
      const builder = tx.insert(effects).values({ name })
      const prepared = tx
        .insert(effects)
        .values({ name: sql.placeholder('name') })
        .prepare('keep')
      const { session } = tx._
      // What the session sends by is no part of its type.
      const { client } = session as unknown as { client: pg.PoolClient }
      const statement = sql`insert into effects (name) values (${name})`
      return {
        builder: () => builder,
        prepared: () => prepared.execute({ name }),
        execute: () => tx.execute(statement),
        insert: () => tx.insert(effects).values({ name }),
        nested: () => tx.transaction((inner) => inner.insert(effects).values({ name })),
        session: () => session.execute(statement),
        client: () => client.query('insert into effects (name) values ($1)', [name]),
        with: () => tx.with().insert(effects).values({ name }),
      }
    },
  }
})

describeOrm<SqlTx>('Drizzle on postgres.js', (url) => {
  const client = postgres(url, { onnotice: () => {}, prepare: false })
  const db = drizzleOnSql(client, { schema })
  return {
    transactions: drizzleTransactions(db),
    insert: (tx, name) => tx.insert(effects).values({ name }),
    count: async (tx) => (await tx.select().from(effects)).length,
    nested: (tx, work) => tx.transaction(work),
    async keep(tx, name) {
      const builder = tx.insert(effects).values({ name })
      const prepared = tx
        .insert(effects)
        .values({ name: sql.placeholder('name') })
        .prepare('keep')
      // What the session sends by is no part of its type.
      const { client } = tx._.session as unknown as { client: postgres.TransactionSql }
      return {
        builder: () => builder,
        prepared: () => prepared.execute({ name }),
        execute: () => tx.execute(sql`insert into effects (name) values (${name})`),
        nested: () => tx.transaction((inner) => inner.insert(effects).values({ name })),
        client: () => client`insert into effects (name) values (${name})`,
        savepoint: () =>
          client.savepoint((inner) => inner`insert into effects (name) values (${name})`),
      }
    },
    // After a connection was cut in a transaction, postgres.js would wait for good.
    end: () => client.end({ timeout: 1 }),
  }
})

describeTransactions('PGlite with transactions of Drizzle', async () => {
  const client = await PGlite.create()
  const transactions = drizzleTransactions(drizzleOnPglite(client))
  const store = postgresStore(client, { transactions })
  return harnessOf({
    ...{ store, peer: store, schema: 'reprise', concurrentTransactions: false },
    execute: async (statement, values = []) =>
      (await client.query<object>(statement, [...values])).rows,
    executeIn: async (tx, statement) => transactions.query(tx, statement, []),
    async inOwnTransaction(work) {
      await transactions.transaction(work, undefined)
    },
    end: () => client.close(),
  })
})

it('gives handlers a transaction of Drizzle', () => {
  const pool = new pg.Pool()
  const db = drizzle(pool, { schema })
  const store = postgresStore(pool, { transactions: drizzleTransactions(db) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<PgTx>>()
})
