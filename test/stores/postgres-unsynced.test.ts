import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { STARTED } from '../../src/core/record.ts'
import type { Store } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  rivalOf,
  sampleFinish,
  sampleRequest,
  stepTo,
  take,
  takeAndFinish,
} from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const UNBEGUN = { recoveryPoint: STARTED, input: new Uint8Array([1]) }

let database: TemporaryDatabase
let pool: pg.Pool
let store: Store<pg.PoolClient>

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url)
  store = postgresStore(pool)
  await store.ready()
  // What each commit that touches a record waits for, noted when it commits.
  await pool.query(`
    create table waits (setting text);
    create function note() returns trigger language plpgsql as $$
    begin
      insert into waits values (current_setting('synchronous_commit'));
      return null;
    end
    $$;
    create constraint trigger noted after insert or update on reprise.records
      deferrable initially deferred for each row execute function note()`)
})

beforeEach(async () => {
  await pool.query('truncate waits')
})

afterAll(async () => {
  await store.close()
  await pool.end()
  await database.drop()
})

/** What the commits since the test began have waited for. */
async function waits(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ setting: string }>('select setting from waits')
  return rows.map(({ setting }) => setting)
}

async function expire(id: string): Promise<void> {
  const hex = Buffer.from(id, 'base64url').toString('hex')
  const text = `update reprise.records set expires_at = '-infinity', lease_until = null
                 where id = decode($1, 'hex')`
  await pool.query(text, [hex])
  await pool.query('truncate waits')
}

it('a claim waits for the disk where the handler can begin at once', async () => {
  await take(store, sampleRequest())

  expect(await waits()).toEqual(['on'])
})

it('a claim does not wait where nothing begins before a recovery point is written, which does', async () => {
  const { claim } = await take(store, sampleRequest(UNBEGUN))
  await store.advance(claim, stepTo('ride_made'))
  await store.finish(claim, sampleFinish())

  expect(await waits()).toEqual(['off', 'on', 'on'])
})

it('what is claimed after the retention of an answer does not wait either', async () => {
  const request = sampleRequest(UNBEGUN)
  await takeAndFinish(store, request)
  await expire(request.id)
  await take(store, rivalOf(request))

  expect(await waits()).toEqual(['off'])
})

it('a claim waits that takes a run over, or buries one', async () => {
  const request = sampleRequest(UNBEGUN)
  const { claim } = await take(store, request)
  await store.release(claim, 'suspend')
  await pool.query('truncate waits')
  await take(store, rivalOf(request))
  expect(await waits()).toEqual(['on'])

  await expire(request.id)
  expect((await take(store, rivalOf(request))).abandoned).toBe(true)
  expect(await waits()).toEqual(['on'])
})
