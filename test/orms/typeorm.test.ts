import pg from 'pg'
import { DataSource, type EntityManager, EntitySchema } from 'typeorm'
import { expectTypeOf, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { typeormTransactions } from '../../src/stores/postgres/handles/typeorm.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { describeOrm } from './suite.ts'

const Effect = new EntitySchema<{ id: number; name: string }>({
  name: 'effects',
  columns: {
    id: { type: 'integer', primary: true, generated: 'increment' },
    name: { type: 'text' },
  },
})

const entities = [Effect]

describeOrm<EntityManager>('TypeORM', async (url) => {
  const source = await new DataSource({ type: 'postgres', url, entities }).initialize()
  return {
    transactions: typeormTransactions(source),
    insert: (tx, name) => tx.getRepository(Effect).insert({ name }),
    count: (tx) => tx.getRepository(Effect).count(),
    end: () => source.destroy(),
  }
})

it('gives handlers an EntityManager', () => {
  const pool = new pg.Pool()
  const source = new DataSource({ type: 'postgres' })
  const store = postgresStore(pool, { transactions: typeormTransactions(source) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<EntityManager>>()
})
