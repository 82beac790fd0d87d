import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const EXPIRED = 400
const BATCH = 10

let database: TemporaryDatabase
let pool: pg.Pool
let aside: pg.Pool
let store: Store<pg.PoolClient>

beforeEach(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { max: 1 })
  aside = poolOf(database.url)
  store = postgresStore(pool)
  await store.ready()
})

afterEach(async () => {
  await store.close()
  await Promise.all([pool.ended ? undefined : pool.end(), aside.end()])
  await database.drop()
})

/** Records that expired one millisecond after the other, the last so many seconds ago. */
async function expire(numbers: readonly [from: number, to: number], secondsAgo: number) {
  await aside.query(
    `insert into reprise.records (created_at, finished_at, expires_at, fence, status, id, caller,
            operation, key, fingerprint, response)
     select now() - interval '1 day', now() - interval '1 day',
            now() - $3 * interval '1 second' + (n - $2) * interval '1 ms', 1, 201,
            sha256(n::text::bytea), 'acct', 'op', n::text, sha256('f'), 'answer'
       from generate_series($1::integer, $2::integer) n`,
    [...numbers, secondsAgo],
  )
}

/** How many entries of the index on expiry were read, once the store's connection has told. */
async function entriesRead(): Promise<number> {
  await store.close()
  await pool.end()
  for (;;) {
    const { rows } = await aside.query(`
      select idx_tup_read::integer as entries from pg_stat_user_indexes
       where indexrelname = 'records_expired'`)
    if (rows[0].entries >= EXPIRED) return rows[0].entries
    await delay(20)
  }
}

describe('sweeping in batches', () => {
  it('reads no entry of the index again for each batch', async () => {
    await expire([1, EXPIRED], 60)
    // As long as somebody may still see what was deleted, every scan comes past it.
    const reader = await aside.connect()
    await reader.query('begin isolation level repeatable read')
    await reader.query('select count(*) from reprise.records')

    let swept = 0
    for (let batch = 0; batch <= EXPIRED / BATCH; batch++) swept += await store.sweep(BATCH)
    expect(swept).toBe(EXPIRED)

    const entries = await entriesRead()
    reader.release(true)
    // Each once, one more for each batch, and all once more to be sure at the end.
    expect(entries).toBeLessThanOrEqual(3 * EXPIRED)
  })

  it('finds what lies before the place that it had come to', async () => {
    await expire([1, 20], 60)
    expect(await store.sweep(15)).toBe(15)
    await expire([21, 30], 3600)

    expect(await store.sweep(20)).toBe(15)
    expect(await store.sweep(20)).toBe(0)
  })
})
