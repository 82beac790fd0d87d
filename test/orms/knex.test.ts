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
    nested: (tx, work) => tx.transaction(work),
    startNested: (tx) => tx.transaction(),
    async keep(tx, name) {
      const builder = tx('effects').insert({ name })
      const raw = tx.raw('insert into effects (name) values (?)', [name])
      const provider = tx.transactionProvider()
      const { client } = tx
      const connection = await client.acquireConnection()
      const text = 'insert into effects (name) values ($1)'
      return {
        builder: () => builder,
        raw: () => raw,
        insert: () => tx.insert({ name }).into('effects'),
        nested: () => tx.transaction((inner) => inner('effects').insert({ name })),
        savepoint: () => tx.savepoint((inner) => inner('effects').insert({ name })),
        provider: async () => {
          const inner = await provider()
          await inner('effects').insert({ name })
          await inner.commit()
        },
        transacting: () => db('effects').insert({ name }).transacting(tx),
        batch: () => tx.batchInsert('effects', [{ name }]),
        client: () => client.query(connection, { sql: text, bindings: [name] }),
        connection: () => connection.query(text, [name]),
        schema: () => tx.schema.raw(`insert into effects (name) values ('${name}')`),
      }
    },
    end: () => db.destroy(),
  }
})

it('gives handlers a Knex.Transaction', () => {
  const pool = new pg.Pool()
  const db = knex({ client: 'pg', connection: '' })
  const store = postgresStore(pool, { transactions: knexTransactions(db) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<Knex.Transaction>>()
})
