/**
 * Transactions of Prisma.
 *
 * @module
 */

import type { Isolation } from '../../../engine/transactions.ts'
import type { TransactionSource } from './source.ts'

/** Levels as Prisma names them. */
export type PrismaIsolation = 'ReadCommitted' | 'RepeatableRead' | 'Serializable'

/** Prisma's bounds on a transaction. */
export interface PrismaTransactionOptions {
  /**
   * How long to wait for a connection, in milliseconds.
   *
   * @default that of the client
   */
  readonly maxWait?: number
  /**
   * After how long Prisma rolls a transaction back, in milliseconds.
   *
   * @default 2147483647: how long work may take is bounded by its lease
   */
  readonly timeout?: number
}

/** What is used of a `PrismaClient`. */
export interface PrismaDatabase<Tx> {
  $transaction<T>(
    work: (tx: Tx) => Promise<T>,
    options?: { maxWait?: number; timeout?: number; isolationLevel?: PrismaIsolation },
  ): Promise<T>
}

/** What is used of a `Prisma.TransactionClient`. */
export interface PrismaTransaction {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>
}

const LEVELS: Readonly<Record<Isolation, PrismaIsolation>> = {
  'read committed': 'ReadCommitted',
  'repeatable read': 'RepeatableRead',
  serializable: 'Serializable',
}

/** The longest that a timer can be set to. */
const TIMEOUT_MS = 2_147_483_647

/**
 * Has handlers and phases run in transactions of Prisma: `tx` is its `Prisma.TransactionClient`.
 *
 * @example
 * ```ts
 * const prisma = new PrismaClient({ adapter: new PrismaPg({ connectionString }) })
 * const store = postgresStore(pool, { transactions: prismaTransactions(prisma) })
 * ```
 */
export function prismaTransactions<Tx extends PrismaTransaction>(
  prisma: PrismaDatabase<Tx>,
  options: PrismaTransactionOptions = {},
): TransactionSource<Tx> {
  const bounds = { timeout: TIMEOUT_MS, ...options }
  return {
    transaction: (work, isolation) =>
      prisma.$transaction(work, {
        ...bounds,
        ...(isolation && { isolationLevel: LEVELS[isolation] }),
      }),
    async query(tx, text, values) {
      // Raw queries give rows as objects.
      return (await tx.$queryRawUnsafe(text, ...values)) as readonly object[]
    },
  }
}
