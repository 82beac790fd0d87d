import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CapturedResponse } from '../../src/core/response.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const DONE: CapturedResponse = { status: 201, headers: [], body: new Uint8Array() }

describe('transaction mode on PostgreSQL', () => {
  let database: TemporaryDatabase
  let pool: pg.Pool
  beforeAll(async () => {
    database = await temporaryDatabase()
    pool = new pg.Pool({ connectionString: database.url, max: 10 })
    await pool.query('create table accounts (id integer primary key, balance integer not null)')
    await pool.query('insert into accounts values (1, 100), (2, 100)')
  })
  afterAll(async () => {
    await pool.end()
    await database.drop()
  })

  it('hole 22: survives a crash of the database: records are in a logged table', async () => {
    await postgresStore(pool).ready()

    const { rows } = await pool.query(
      `select relpersistence from pg_class where oid = 'reprise.records'::regclass`,
    )

    expect(rows).toEqual([{ relpersistence: 'p' }])
  })

  it('hole 22: runs a transaction again that lost to another, and both take effect once', async () => {
    let retries = 0
    const reprise = createReprise({
      store: postgresStore(pool),
      onEvent: ({ type }) => {
        if (type === 'transaction_retry') retries++
      },
    })
    let arrived = 0
    let open = () => {}
    const both = new Promise<void>((resolve) => {
      open = resolve
    })
    /** Reads both accounts and writes one: a write skew, which serializable transactions refuse. */
    const withdraw = (account: number) =>
      reprise.runInTransaction(
        { caller: 'acct', operation: 'withdraw', key: `from-${account}`, fingerprints: ['f'] },
        async ({ tx }) => {
          await tx.query('select sum(balance) from accounts')
          if (++arrived === 2) open()
          await both
          await tx.query('update accounts set balance = balance - 60 where id = $1', [account])
          return DONE
        },
        { isolation: 'serializable' },
      )

    const results = await Promise.all([withdraw(1), withdraw(2)])

    expect(results.map(({ outcome }) => outcome)).toEqual(['executed', 'executed'])
    expect(retries).toBeGreaterThan(0)
    const { rows } = await pool.query('select balance from accounts order by id')
    expect(rows).toEqual([{ balance: 40 }, { balance: 40 }])
  })

  it('hole 17: a handler that throws after its effect leaves none, and may run again', async () => {
    const reprise = createReprise({ store: postgresStore(pool) })
    const request = { caller: 'acct', operation: 'deposit', key: 'k', fingerprints: ['f'] }
    const deposit = (isBroken: boolean) =>
      reprise.runInTransaction(request, async ({ tx }) => {
        await tx.query('update accounts set balance = balance + 1 where id = 1')
        if (isBroken) throw new Error('after the effect')
        return DONE
      })
    const balance = async () =>
      (await pool.query('select balance from accounts where id = 1')).rows[0].balance
    const before = await balance()

    await expect(deposit(true)).rejects.toThrow('after the effect')
    expect(await balance()).toBe(before)
    expect((await deposit(false)).outcome).toBe('executed')
    expect((await deposit(false)).outcome).toBe('replayed')
    expect(await balance()).toBe(before + 1)
  })
})
