import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { pack, packAll } from '../../src/stores/postgres/record.ts'
import { sampleFinish, sampleRequest, take } from '../../src/testing/contract/sample.ts'
import { open } from '../../src/testing/contract/transaction.ts'
import { temporaryDatabase } from '../support/postgres.ts'

const HOUR_MS = 3_600_000
const quota = { keys: 10, perMs: HOUR_MS }

let pool: pg.Pool
let end = async () => {}

beforeAll(async () => {
  const database = await temporaryDatabase()
  pool = new pg.Pool({ connectionString: database.url, max: 5 })
  end = async () => {
    await pool.end()
    await database.drop()
  }
  await postgresStore(pool).ready()
})
afterAll(() => end())

it.each(['read committed', 'repeatable read', 'serializable'] as const)(
  'transactions of one caller under a quota run side by side, %s',
  async (isolation) => {
    const store = postgresStore(pool)
    const caller = `acct ${isolation}`
    const request = () => ({ ...sampleRequest({ caller, quota }), isolation })
    const harness = { store }
    await (await open(harness, request())).commit(sampleFinish())
    // All are open before the first of them ends, and none of them waits or fails for the others.
    const all = []
    for (let number = 1; number <= 4; number++) all.push(await open(harness, request()))
    for (const transaction of all) await transaction.commit(sampleFinish())

    const { rows } = await pool.query(
      'select count(*)::integer as n from reprise.records where caller = $1 and counts_until > now()',
      [caller],
    )
    expect(rows).toEqual([{ n: 5 }])
  },
)

it('a caller of any length has a quota', async () => {
  const store = postgresStore(pool)
  const caller = Array.from({ length: 3000 }, (_, index) => `part ${index}`).join(' ')
  await take(store, sampleRequest({ caller, quota: { ...quota, keys: 1 } }))
  const next = await store.claim(sampleRequest({ caller, quota: { ...quota, keys: 1 } }))
  expect(next.outcome).toBe('over_quota')
})

it('versions that know no quotas go on claiming, and their keys do not count', async () => {
  const { id, caller, operation, key, fingerprint, owner } = sampleRequest({ caller: 'older' })
  const { rows } = await pool.query(
    `select a.outcome, a.fence from reprise.claim(
       $1, $2, $3, $4, $5, $6, $7, 1000, 1000, null, false, null, null, null, null) a`,
    [pack(id), caller, operation, key, pack(fingerprint), packAll([fingerprint]), pack(owner)],
  )
  expect(rows).toEqual([{ outcome: 'execute', fence: 1 }])
  const next = await postgresStore(pool).claim(
    sampleRequest({ caller, quota: { ...quota, keys: 1 } }),
  )
  expect(next.outcome).toBe('execute')
})

it('no more is read than the quota goes, whatever the planner thinks of the rows', async () => {
  await pool.query(`
    insert into reprise.records (created_at, expires_at, finished_at, status, response, fence, id,
                                 caller, operation, key, fingerprint, counts_until)
    select now(), now() + interval '1 day', now(), 200, '', 1, sha256(n::text::bytea), 'many',
           'POST /', n::text, '', now() + interval '1 hour'
      from generate_series(1, 20000) n order by md5(n::text)`)
  await pool.query('analyze reprise.records')
  const client = await pool.connect()
  try {
    await client.query('begin')
    const before = await readsOf(client)
    // Often enough for a plan that is made for any quota.
    for (let ask = 1; ask <= 10; ask++) {
      const { rows } = await client.query(`select reprise.room_in('many', 1000) as ms`)
      expect(rows[0].ms).toBeGreaterThan(0)
    }
    const { scans, fetched } = await readsOf(client)
    expect([scans - before.scans, fetched - before.fetched]).toEqual([0, 10_000])
    await client.query('rollback')
  } finally {
    client.release()
  }
})

/** What this connection has read of records; the server may not have counted all before it yet. */
async function readsOf(client: pg.PoolClient): Promise<{ scans: number; fetched: number }> {
  const { rows } = await client.query(
    `select seq_scan::integer as scans, idx_tup_fetch::integer as fetched
       from pg_stat_xact_user_tables where schemaname = 'reprise' and relname = 'records'`,
  )
  return rows[0]
}
