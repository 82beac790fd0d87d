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
    nested: (tx, work) => tx.transaction(work),
    startNested: async (tx) => tx.queryRunner?.startTransaction(),
    async keep(tx, name) {
      const repository = tx.getRepository(Effect)
      const builder = tx.createQueryBuilder().insert().into(Effect).values({ name })
      const runner = tx.queryRunner
      const client = await runner?.connect()
      const text = 'insert into effects (name) values ($1)'
      return {
        repository: () => repository.insert({ name }),
        save: () => repository.save({ name }),
        builder: () => builder.execute(),
        query: () => tx.query(text, [name]),
        runner: async () => runner?.query(text, [name]),
        connect: async () => {
          const connection = await runner?.connect()
          return connection.query(text, [name])
        },
        client: () => client.query(text, [name]),
        nested: () => tx.transaction((inner) => inner.getRepository(Effect).insert({ name })),
        manager: async () => runner?.manager.getRepository(Effect).insert({ name }),
        scoped: () => tx.withRepository(repository).insert({ name }),
        start: async () => {
          await runner?.startTransaction()
          await tx.query(text, [name])
          await runner?.commitTransaction()
        },
      }
    },
    end: () => source.destroy(),
  }
})

it('gives handlers an EntityManager', () => {
  const pool = new pg.Pool()
  const source = new DataSource({ type: 'postgres' })
  const store = postgresStore(pool, { transactions: typeormTransactions(source) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<EntityManager>>()
})
