import { PGlite, type Transaction } from '@electric-sql/pglite'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, expectTypeOf, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  rivalOf,
  sampleFinish,
  sampleRequest,
  takeAndFinish,
} from '../../src/testing/contract/sample.ts'
import { open } from '../../src/testing/contract/transaction.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const SEALED = Uint8Array.from({ length: 256 }, (_, index) => index)

/** Starting PGlite takes seconds of computing, which a busy machine makes many. */
const START_MS = 120_000

let database: TemporaryDatabase
let db: PGlite

beforeAll(async () => {
  const parse = () => 'parsed by the user'
  database = await temporaryDatabase()
  db = await PGlite.create({ parsers: { 16: parse, 17: parse, 23: parse, 701: parse } })
}, START_MS)

afterAll(() => Promise.all([database.drop(), db.close()]))

/** Stores an answer both ways and reads it back. */
async function roundTrip(store: Store<unknown>): Promise<void> {
  await store.ready()
  const finish = sampleFinish({ response: { status: 201, sealed: SEALED } })
  const [leased, inTransaction] = [sampleRequest(), sampleRequest()]
  await takeAndFinish(store, leased, finish)
  await (await open({ store }, inTransaction)).commit(finish)

  for (const request of [leased, inTransaction]) {
    const replay = await store.claim(rivalOf(request))
    if (replay.outcome !== 'replay') throw new Error(`It is answered with ${replay.outcome}.`)
    expect(Buffer.from(replay.response.sealed)).toEqual(Buffer.from(SEALED))
    expect(replay).toMatchObject({ response: { status: 201 }, owner: request.owner })
    const found = await store.find(request.id)
    expect(found).toMatchObject({ status: 'finished', record: { id: request.id, fence: 1 } })
    expect(found?.record.createdAt).toBeCloseTo(Date.now(), -5)
  }
}

describe('a pool of pg', () => {
  it('outlives its idle connections, although the user listens for no errors', async () => {
    const pool = new pg.Pool({ connectionString: database.url, max: 2 })
    const store = postgresStore(pool)
    await store.ready()
    const { rows } = await pool.query('select pg_backend_pid() as pid')
    const removed = new Promise((resolve) => pool.once('remove', resolve))
    const admin = poolOf(database.url, { max: 1 })
    await admin.query('select pg_terminate_backend($1)', [rows[0].pid])
    await removed

    expect(await store.find(sampleRequest().id)).toBeUndefined()
    await Promise.all([pool.end(), admin.end(), store.close()])
  })
})

describe('the user', () => {
  it('gets transactions of the own library', async () => {
    const pool = poolOf(database.url)
    const sql = postgres(database.url)
    const stores = [postgresStore(pool), postgresStore(sql), postgresStore(db)] as const
    await Promise.all([pool.end(), sql.end()])

    expect(stores.map(({ name }) => name)).toEqual(['postgres', 'postgres', 'postgres'])
    expectTypeOf(stores[0]).toEqualTypeOf<Store<pg.PoolClient>>()
    expectTypeOf(stores[1]).toEqualTypeOf<Store<postgres.ReservedSql | postgres.TransactionSql>>()
    expectTypeOf(stores[2]).toEqualTypeOf<Store<Transaction>>()
  })

  it('is told that a client is none', () => {
    const client = new pg.Client({ connectionString: database.url })
    // @ts-expect-error A single connection is no pool.
    const make = () => postgresStore(client)

    expect(make).toThrow(expect.objectContaining({ code: 'reprise-options-invalid' }))
  })
})

describe('what the user configured', () => {
  it('does not change what the store reads through pg', async () => {
    const types = { getTypeParser: () => () => 'parsed by the user' }
    const pool = poolOf(database.url, { types })
    await roundTrip(postgresStore(pool))
    await pool.end()
  })

  it('does not change what the store reads through postgres.js', async () => {
    const numbers = { to: 701, from: [16, 23, 701], serialize: String, parse: () => null }
    const sql = postgres(database.url, {
      types: { numbers },
      transform: { ...postgres.camel, value: { from: () => undefined } },
    })
    await roundTrip(postgresStore(sql))
    await sql.end()
  })

  it('does not change what the store reads through PGlite', async () => {
    await roundTrip(postgresStore(db))
  })

  it.each(['hex', 'escape'])('may be bytes as %s', async (format) => {
    const pool = poolOf(database.url, { options: `-c bytea_output=${format}` })
    await roundTrip(postgresStore(pool))
    await pool.end()
  })
})

describe('without prepared statements', () => {
  it('nothing is prepared through pg', async () => {
    const pool = poolOf(database.url, { max: 1 })
    await roundTrip(postgresStore(pool, { prepare: false }))
    const { rowCount } = await pool.query('select from pg_prepared_statements')
    await pool.end()

    expect(rowCount).toBe(0)
  })

  it('nothing is prepared through postgres.js', async () => {
    const sql = postgres(database.url, { max: 1, prepare: false })
    await roundTrip(postgresStore(sql, { prepare: false }))
    const rows = await sql`select from pg_prepared_statements`
    await sql.end()

    expect(rows).toHaveLength(0)
  })

  it('and with them, each verb is prepared once', async () => {
    const pool = poolOf(database.url, { max: 1 })
    const store = postgresStore(pool)
    await roundTrip(store)
    await roundTrip(store)
    const { rows } = await pool.query<{ name: string }>('select name from pg_prepared_statements')
    await pool.end()

    const verbs = rows
      .map(({ name }) => /^reprise_(\w+)_[0-9a-f]{12}$/.exec(name)?.[1] ?? '')
      .sort()
    expect(verbs).toEqual(['begin_transaction', 'claim', 'find', 'finish', 'store_finished'])
  })
})

describe('a joined transaction of PGlite', () => {
  it('commits and rolls back its own part', async () => {
    const store = postgresStore(db)
    await store.ready()
    await db.exec('create table effects (id integer generated always as identity)')
    const [kept, undone] = [sampleRequest(), sampleRequest()]
    await db.transaction(async (join) => {
      const first = await store.transactions?.begin({ ...kept, join })
      if (first === undefined || !('tx' in first)) throw new Error('It is refused.')
      await first.tx.query('insert into effects default values')
      await first.commit(sampleFinish())
      const second = await store.transactions?.begin({ ...undone, join })
      if (second === undefined || !('tx' in second)) throw new Error('It is refused.')
      await second.tx.query('insert into effects default values')
      await second.rollback()
    })

    expect((await db.query('select from effects')).rows).toHaveLength(1)
    expect((await store.find(kept.id))?.status).toBe('finished')
    expect(await store.find(undone.id)).toBeUndefined()
  })
})

it('refuses a pool of pg whose answers are binary', () => {
  // Not in its types.
  const config: object = { binary: true }
  const pool = new pg.Pool(config)

  expect(() => postgresStore(pool)).toThrow(/binary/)
})

it('works where a tool copies the queries that pg is given', async () => {
  const own = await temporaryDatabase()
  const pool = new pg.Pool({ connectionString: own.url })
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...args: readonly unknown[]) => unknown
    const copying = (config: unknown, ...rest: readonly unknown[]) =>
      query(typeof config === 'object' ? { ...config } : config, ...rest)
    Object.assign(client, { query: copying })
  })
  try {
    const store = postgresStore(pool)
    await store.ready()
    const claimed = await store.claim(sampleRequest())
    expect(claimed).toMatchObject({ outcome: 'execute' })
  } finally {
    await pool.end()
    await own.drop()
  }
})
