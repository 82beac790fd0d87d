import { createHash } from 'node:crypto'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { migratePostgres, postgresStore } from '../../src/stores/postgres/index.ts'
import { migrations } from '../../src/stores/postgres/migrations/index.ts'
import { stepStatements } from '../../src/stores/postgres/migrations/script.ts'
import { sampleRequest, takeAndFinish } from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

/** Digests of steps: a database that took one never takes it again, so changes are steps of their own. */
const TAKEN = [
  'c8f113b89ac75b02',
  'fb3c673c802113fc',
  'f7e856752dc7542f',
  'e427810c1dfaeed5',
  '6f8270cce9493788',
  'd6e4859a6cd28bb6',
]

let database: TemporaryDatabase
let pool: pg.Pool

beforeEach(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url)
})

afterEach(async () => {
  await pool.end()
  await database.drop()
})

async function steps(schema = 'reprise'): Promise<unknown[]> {
  return (await pool.query(`select number, breaking from "${schema}".migrations`)).rows
}

describe('migrations', () => {
  it('are taken once by twenty nodes that start at the same time', async () => {
    const nodes = Array.from({ length: 20 }, () => poolOf(database.url, { max: 1 }))
    await Promise.all(nodes.map((node) => postgresStore(node).ready()))
    await Promise.all(nodes.map((node) => node.end()))

    const known = migrations('reprise').map(({ number, breaking }) => ({ number, breaking }))
    expect(known.map(({ number }) => number)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,
    ])
    expect(await steps()).toEqual(known)
  })

  it('are taken apart from the app on demand', async () => {
    const store = postgresStore(pool, { migrate: false })
    await expect(store.ready()).rejects.toMatchObject({ code: 'reprise-schema-missing' })
    expect((await pool.query(`select to_regnamespace('reprise') as at`)).rows[0].at).toBeNull()
    await migratePostgres(pool)
    await store.ready()

    expect(await takeAndFinish(store, sampleRequest())).toBeDefined()
  })

  it('are refused when a newer version has broken with this one', async () => {
    await migratePostgres(pool)
    await pool.query(
      'insert into reprise.migrations (number, breaking) values (98, false), (99, true)',
    )

    for (const migrate of [true, false]) {
      const ready = postgresStore(pool, { migrate }).ready()
      await expect(ready).rejects.toMatchObject({ code: 'reprise-schema-newer' })
    }
  })

  it('warn once when a newer version has been here and this one can go on', async () => {
    await migratePostgres(pool)
    await pool.query('insert into reprise.migrations (number, breaking) values (98, false)')
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const store = postgresStore(pool)
    await Promise.all([store.ready(), store.ready()])
    await store.ready()
    const calls = warned.mock.calls.map(([message]) => message)
    warned.mockRestore()

    expect(calls).toEqual([expect.stringContaining('step 98')])
    expect(await takeAndFinish(store, sampleRequest())).toBeDefined()
  })

  it('that databases have taken stay as they are', () => {
    const digests = migrations('reprise').map(({ sql }) => {
      return createHash('sha256').update(sql).digest('hex').slice(0, 16)
    })
    expect(digests.slice(0, TAKEN.length)).toEqual(TAKEN)
  })

  it('give a database at step 6 the indexes that the statements need', async () => {
    for (const statement of stepStatements('reprise', { from: 0, to: 6 })) {
      await pool.query(statement)
    }
    await migratePostgres(pool)
    const { rows } = await pool.query(
      `select indexname, indexdef from pg_indexes where indexname = any ($1) order by indexname`,
      [['dead_letters_kept', 'records_key', 'records_unfinished', 'staged_jobs_due']],
    )
    expect(rows).toEqual([
      {
        indexname: 'dead_letters_kept',
        indexdef: expect.stringContaining('(settled_at IS NOT NULL) AND (input IS NOT NULL)'),
      },
      {
        indexname: 'staged_jobs_due',
        indexdef: expect.stringContaining('(COALESCE(run_at, staged_at), number)'),
      },
    ])
  })

  it('leave nothing behind when one fails', async () => {
    await pool.query('create schema reprise')
    await pool.query(
      'create function reprise.look(bytea, text, boolean) returns integer language sql as $$ select 1 $$',
    )
    const ready = postgresStore(pool).ready()

    await expect(ready).rejects.toMatchObject({ code: 'idempotency-store-unavailable' })
    expect((await pool.query(`select to_regclass('reprise.records') as at`)).rows[0].at).toBeNull()
  })

  it('succeed on the next try after one that failed', async () => {
    const store = postgresStore(pool, { migrate: false })
    await expect(store.ready()).rejects.toThrow('schema')
    await migratePostgres(pool)

    expect(await store.ready()).toBeUndefined()
  })

  it('need no right to make schemas where there is one', async () => {
    const role = `reprise_test_${process.pid}_${database.url.slice(-6)}`
    await pool.query(`create role ${role}; create schema mine authorization ${role}`)
    const one = poolOf(database.url, { max: 1 })
    await one.query(`set role ${role}`)
    await migratePostgres(one, { schema: 'mine' })
    await one.end()

    expect(await steps('mine')).toHaveLength(migrations('mine').length)
    await pool.query(`drop owned by ${role}; drop role ${role}`)
  })
})

describe('the name of the schema', () => {
  it.each(['Big', 'two words', 'ünïcode', 'a-b.c;d', 'select'])('may be %s', async (schema) => {
    const store = postgresStore(pool, { schema })
    await store.ready()
    const request = sampleRequest()
    await takeAndFinish(store, request)

    expect((await store.claim(request)).outcome).toBe('replay')
    expect((await pool.query(`select from "${schema}".records`)).rowCount).toBe(1)
  })

  it.each([
    '',
    'a"b',
    "a'b",
    'a$b',
    'a\\b',
    'a\nb',
    'pg_mine',
    'information_schema',
    'x'.repeat(64),
  ])('may not be %j', (schema) => {
    const make = () => postgresStore(pool, { schema })

    expect(make).toThrow(expect.objectContaining({ code: 'reprise-options-invalid' }))
  })

  it('keeps two stores in one database apart', async () => {
    const [one, two] = [
      postgresStore(pool, { schema: 'one' }),
      postgresStore(pool, { schema: 'two' }),
    ]
    await Promise.all([one.ready(), two.ready()])
    const request = sampleRequest()
    await takeAndFinish(one, request)
    const open = await one.transactions?.begin({ ...sampleRequest(), id: 'shared' })
    const other = await two.transactions?.begin({ ...sampleRequest(), id: 'shared' })

    expect((await two.claim(request)).outcome).toBe('execute')
    expect([open?.outcome, other?.outcome]).toEqual(['execute', 'execute'])
    for (const transaction of [open, other]) {
      if (transaction !== undefined && 'tx' in transaction) await transaction.rollback()
    }
  })
})
