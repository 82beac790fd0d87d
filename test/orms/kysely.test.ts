import {
  CamelCasePlugin,
  type DatabaseConnection,
  Kysely,
  PostgresDialect,
  sql,
  type Transaction,
} from 'kysely'
import pg from 'pg'
import { expectTypeOf, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { kyselyTransactions } from '../../src/stores/postgres/handles/kysely.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeOrm } from './suite.ts'

interface Database {
  readonly effects: { readonly name: string }
}

describeOrm<Transaction<Database>>('Kysely', (_, pool) => {
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  return {
    transactions: kyselyTransactions(db),
    insert: (tx, name) => tx.insertInto('effects').values({ name }).execute(),
    count: async (tx) => (await tx.selectFrom('effects').select('name').execute()).length,
    async keep(tx, name) {
      const builder = tx.insertInto('effects').values({ name })
      const compiled = builder.compile()
      const plugged = tx.withPlugin(new CamelCasePlugin())
      const executor = tx.getExecutor()
      let connection: DatabaseConnection | undefined
      await executor.provideConnection(async (provided) => {
        connection = provided
      })
      const text = sql`insert into effects (name) values (${name})`
      return {
        builder: () => builder.execute(),
        compiled: () => tx.executeQuery(compiled),
        sql: () => text.execute(tx),
        plugin: () => plugged.insertInto('effects').values({ name }).execute(),
        schema: () => tx.withSchema('public').insertInto('effects').values({ name }).execute(),
        plain: () => plugged.withoutPlugins().insertInto('effects').values({ name }).execute(),
        executor: () => executor.withPlugin(new CamelCasePlugin()).executeQuery(compiled),
        provided: () => executor.provideConnection((provided) => provided.executeQuery(compiled)),
        connection: async () => connection?.executeQuery(compiled),
      }
    },
  }
})

it('gives handlers a Transaction of Kysely', () => {
  const pool = new pg.Pool()
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  const store = postgresStore(pool, { transactions: kyselyTransactions(db) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<Transaction<Database>>>()
})
