import type pg from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import type { OpenTransaction } from '../../src/engine/transactions.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { open } from '../../src/testing/contract/transaction.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { countDeaths, type Deaths } from '../hostile/wires/deaths.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

type Tx = postgres.TransactionSql

let database: TemporaryDatabase
let admin: pg.Pool
let sql: postgres.Sql
let deaths: Deaths

beforeAll(async () => {
  database = await temporaryDatabase()
  admin = poolOf(database.url)
  await postgresStore(admin).ready()
  await admin.query('create table effects (name text)')
})

beforeEach(() => {
  sql = postgres(database.url, { max: 1 })
  deaths = countDeaths()
})

afterEach(async () => {
  await sql.end({ timeout: 0.1 })
  deaths.restore()
})

afterAll(async () => {
  await admin.end()
  await database.drop()
})

/** What a statement is told whose connection was lost. */
const LOST = { code: expect.stringMatching(/^(CONNECTION_CLOSED|57P01)$/) }

async function opened(store: Store<unknown>): Promise<{ tx: Tx; rollback(): Promise<void> }> {
  const transaction = await open({ store }, sampleRequest())
  // The transactions of this store are those of postgres.js.
  return { tx: transaction.tx as Tx, rollback: () => transaction.rollback() }
}

const insert = (tx: postgres.ISql | Tx, name: string) => tx`insert into effects values (${name})`

/** Ends the session of the transaction, while a statement of it is answered. */
async function lose(tx: postgres.ISql | Tx): Promise<void> {
  await tx`select pg_terminate_backend(pg_backend_pid())`.catch(() => {})
}

/** What handlers do in the turn in which they learn that the connection is lost. */
const HANDLERS: readonly [string, (tx: Tx) => Promise<unknown>][] = [
  [
    'sends another statement at once',
    async (tx) => {
      await lose(tx)
      await insert(tx, 'late')
    },
  ],
  [
    'is in a savepoint, which the library rolls back to',
    (tx) =>
      tx.savepoint(async (inner) => {
        await inner`select pg_terminate_backend(pg_backend_pid())`
      }),
  ],
  [
    'opens a savepoint at once',
    async (tx) => {
      await lose(tx)
      await tx.savepoint((inner) => insert(inner, 'late'))
    },
  ],
  [
    'sends a statement that it made before',
    async (tx) => {
      const late = insert(tx, 'late')
      await lose(tx)
      await late
    },
  ],
]

describe('a transaction of postgres.js whose connection is lost', () => {
  it.each(HANDLERS)('sends nothing more when its handler %s', async (_, handle) => {
    const store = postgresStore(sql)
    // Twice: the second is on a connection object that the first one had.
    for (const end of ['rollback', 'commit'] as const) {
      const transaction = (await open({ store }, sampleRequest())) as OpenTransaction<Tx>
      await insert(transaction.tx, 'undone')
      await expect(handle(transaction.tx)).rejects.toMatchObject(LOST)
      if (end === 'commit')
        await expect(transaction.commit(sampleFinish())).rejects.toMatchObject(LOST)
      await transaction.rollback()
      // Later turns, in which a late statement would be sent.
      await sql`select 1`.catch(() => {})
      await sql`select 1`
    }

    expect(deaths.errors).toEqual([])
    expect((await admin.query('select name from effects')).rows).toEqual([])
  })

  it('rejects what the library has queued for it', async () => {
    const store = postgresStore(sql)
    const { tx, rollback } = await opened(store)
    const lost = tx`select pg_terminate_backend(pg_backend_pid()), ${'described first'}::text`
    const ended = await Promise.allSettled([lost, insert(tx, 'late'), insert(tx, 'later')])
    await rollback()
    await sql`select 1`.catch(() => {})

    expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected'])
    expect(await sql`select name from effects`).toHaveLength(0)
    expect(deaths.errors).toEqual([])
  })

  it('leaves the connection to the next transaction', async () => {
    const store = postgresStore(sql)
    const lost = (await open({ store }, sampleRequest())) as OpenTransaction<Tx>
    await lose(lost.tx)
    await lost.rollback()
    await sql`select 1`.catch(() => {})
    const next = (await open({ store }, sampleRequest())) as OpenTransaction<Tx>
    await next.tx.savepoint((inner) => insert(inner, 'kept'))
    await next.commit(sampleFinish())
    await sql.begin((tx) => insert(tx, 'kept'))

    expect((await admin.query('delete from effects returning name')).rowCount).toBe(2)
    expect(deaths.errors).toEqual([])
  })
})
