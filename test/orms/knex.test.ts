import knex, { type Knex } from 'knex'
import pg from 'pg'
import { expectTypeOf, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { knexTransactions } from '../../src/stores/postgres/handles/knex.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeOrm } from './suite.ts'

describeOrm<Knex.Transaction>('Knex', (url) => {
  const db = knex({ client: 'pg', connection: url })
  return {
    transactions: knexTransactions(db),
    insert: (tx, name) => tx('effects').insert({ name }),
    count: async (tx) => (await tx('effects').select('name')).length,
    end: () => db.destroy(),
  }
})

it('gives handlers a Knex.Transaction', () => {
  const pool = new pg.Pool()
  const db = knex({ client: 'pg', connection: '' })
  const store = postgresStore(pool, { transactions: knexTransactions(db) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<Knex.Transaction>>()
})
