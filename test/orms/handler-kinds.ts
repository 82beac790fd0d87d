/**
 * The ORMs as hostile handlers use them: their own ways to add a row, and transactions inside
 * transactions.
 *
 * @module
 */

import { PrismaPg } from '@prisma/adapter-pg'
import { type Prisma, PrismaClient } from '@prisma/client'
import knex, { type Knex } from 'knex'
import { DataSource, type EntityManager } from 'typeorm'
import { knexTransactions } from '../../src/stores/postgres/handles/knex.ts'
import { prismaTransactions } from '../../src/stores/postgres/handles/prisma.ts'
import { typeormTransactions } from '../../src/stores/postgres/handles/typeorm.ts'
import { statementsOf } from '../hostile/handlers/pg.ts'
import { FAIL, INSERT, type PostgresKind, valuesOf } from '../hostile/handlers/postgres.ts'
import { abilities, BUNDLED, connections, poolOf } from './bundled-kinds.ts'

const onKnex: PostgresKind = {
  ...{ name: 'knex', abilities },
  async connect(url, { pool: max }) {
    const db = knex({ client: 'pg', connection: url, pool: { min: 0, max } })
    const statements = statementsOf<Knex.Transaction>({
      insert: (tx, row) => tx('effects').insert(row),
      fail: (tx) => tx.raw(FAIL),
      nested: (tx, work) => tx.transaction((inner) => work(inner)),
    })
    const end = () => db.destroy()
    return connections(poolOf(url, max), { transactions: knexTransactions(db), statements, end })
  },
}

const typeorm: PostgresKind = {
  ...{ name: 'typeorm', abilities },
  async connect(url, { pool: max }) {
    const source = await new DataSource({ type: 'postgres', url, poolSize: max }).initialize()
    const statements = statementsOf<EntityManager>({
      insert: (tx, row) => tx.query(INSERT, valuesOf(row)),
      fail: (tx) => tx.query(FAIL),
      nested: (tx, work) => tx.transaction((inner) => work(inner)),
    })
    const end = () => source.destroy()
    const transactions = typeormTransactions(source)
    return connections(poolOf(url, max), { transactions, statements, end })
  },
}

const prisma: PostgresKind = {
  ...{ name: 'prisma', abilities: { ...abilities, nested: false } },
  async connect(connectionString, { pool: max }) {
    const client = new PrismaClient({ adapter: new PrismaPg({ connectionString, max }) })
    const statements = statementsOf<Prisma.TransactionClient>({
      insert: (tx, row) => tx.$executeRawUnsafe(INSERT, ...valuesOf(row)),
      fail: (tx) => tx.$queryRawUnsafe(FAIL),
    })
    const end = () => client.$disconnect()
    const transactions = prismaTransactions(client)
    return connections(poolOf(connectionString, max), { transactions, statements, end })
  },
}

/** Every ORM. */
export const ORMS: readonly PostgresKind[] = [...[...BUNDLED, onKnex, typeorm, prisma]]
