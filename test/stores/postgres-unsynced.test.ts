import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { STARTED } from '../../src/core/record.ts'
import type { Store } from '../../src/engine/store.ts'
import { createReprise } from '../../src/index.ts'
import { foreignCall, operation, phase, respond } from '../../src/phases/index.ts'
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
import { anything } from '../phases/phases-world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const UNBEGUN = { recoveryPoint: STARTED, input: new Uint8Array([1]), writesFirst: true }

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

it('claims that go together wait as soon as one of them has to', async () => {
  const together = (length: number) =>
    Promise.all(Array.from({ length }, () => store.claim(sampleRequest(UNBEGUN))))
  await together(60)
  expect(new Set(await waits())).toEqual(new Set(['off']))

  await pool.query('truncate waits')
  const others = together(30)
  await Promise.all([others, store.claim(sampleRequest()), together(20)])
  const [, , , , ...grouped] = await waits()
  expect(grouped.filter((setting) => setting === 'on').length).toBeGreaterThan(10)
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

it('an operation waits for its claim where its first call is made without a word before', async () => {
  const reprise = createReprise({ store })
  const call = { call: async () => 'paid', done: async () => respond(201, 'paid') } as const
  const firsts = {
    call: foreignCall(call),
    noted: foreignCall({ ...call, repeat: 'never' }),
    phase: phase(async () => respond(201, 'paid')),
  }
  const claimed: Record<string, unknown> = {}
  for (const [name, started] of Object.entries(firsts)) {
    await pool.query('truncate waits')
    const pay = operation(name, { reprise, input: anything }, { started })
    await pay.run({ caller: 'acct', key: name, input: {} })
    claimed[name] = (await waits())[0]
  }

  expect(claimed).toEqual({ call: 'on', noted: 'off', phase: 'off' })
})
