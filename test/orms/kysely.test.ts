import { Kysely, PostgresDialect, type Transaction } from 'kysely'
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
  }
})

it('gives handlers a Transaction of Kysely', () => {
  const pool = new pg.Pool()
  const db = new Kysely<Database>({ dialect: new PostgresDialect({ pool }) })
  const store = postgresStore(pool, { transactions: kyselyTransactions(db) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<Transaction<Database>>>()
})
