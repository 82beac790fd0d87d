import type pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { recordLocks } from '../../src/stores/postgres/lock.ts'
import { queries } from '../../src/stores/postgres/queries.ts'
import { pack, packAll } from '../../src/stores/postgres/record.ts'
import { impostorOf, rivalOf, sampleRequest } from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let pool: pg.Pool
let store: Store<pg.PoolClient>

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { max: 4, pipeline: true })
  store = postgresStore(pool)
  await store.ready()
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

it('who is refused keeps nobody away from the record until it is rolled back', async () => {
  const request = sampleRequest({ takesUnknown: true })
  const claimed = await store.claim(request)
  if (!('claim' in claimed)) throw new Error('It is not fresh.')
  // As a crash leaves it, when the lease has lapsed.
  await store.release(claimed.claim, 'suspend')
  const stranger = impostorOf(request)
  const { id, fingerprint, fingerprintsAccepted } = stranger
  const { same, any } = recordLocks('reprise', id, fingerprint)
  const held = await pool.connect()
  await held.query('begin')
  const { rows } = await held.query<{ answer: string }>(queries('reprise').beginTransaction.text, [
    ...[pack(id), same, any],
    ...[packAll(fingerprintsAccepted), true, false, 60_000],
  ])
  expect(rows[0]?.answer).toMatch(/mismatch/)

  const retry = await store.transactions?.begin(rivalOf(request))
  await held.query('rollback')
  held.release()
  expect(retry?.outcome).toBe('recover')
  if (retry !== undefined && 'rollback' in retry) await retry.rollback()
})
