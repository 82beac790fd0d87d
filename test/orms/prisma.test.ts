import { PrismaPg } from '@prisma/adapter-pg'
import { type Prisma, PrismaClient } from '@prisma/client'
import pg from 'pg'
import { expectTypeOf, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { prismaTransactions } from '../../src/stores/postgres/handles/prisma.ts'
import { postgresStore, type TransactionSource } from '../../src/stores/postgres/index.ts'
import { describeOrm } from './suite.ts'

describeOrm<Prisma.TransactionClient>('Prisma', (connectionString) => {
  const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) })
  return {
    transactions: prismaTransactions(prisma),
    insert: (tx, name) => tx.effect.create({ data: { name } }),
    count: (tx) => tx.effect.count(),
    async keep(tx, name) {
      const created = tx.effect.create({ data: { name } })
      const raw = tx.$executeRaw`insert into effects (name) values (${name})`
      const { effect } = tx
      return {
        created: () => created,
        raw: () => raw,
        model: () => effect.create({ data: { name } }),
        many: () => tx.effect.createMany({ data: [{ name }] }),
        unsafe: () => tx.$executeRawUnsafe('insert into effects (name) values ($1)', name),
      }
    },
    end: () => prisma.$disconnect(),
  }
})

it('gives handlers a Prisma.TransactionClient', () => {
  const pool = new pg.Pool()
  const prisma = new PrismaClient({ adapter: new PrismaPg({}) })
  const store = postgresStore(pool, { transactions: prismaTransactions(prisma) })
  expectTypeOf(createReprise({ store })).toEqualTypeOf<Reprise<Prisma.TransactionClient>>()
  expectTypeOf(prismaTransactions(prisma, { timeout: 10_000 })).toEqualTypeOf<
    TransactionSource<Prisma.TransactionClient>
  >()
})
