import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store, TransactionRequest } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { queries } from '../../src/stores/postgres/queries.ts'
import { sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { openProxy, type Proxy } from './postgres-proxy.ts'

const BODY = { status: 201, sealed: new Uint8Array(300) }

let database: TemporaryDatabase
let proxy: Proxy
let pool: pg.Pool
let aside: pg.Pool
let store: Store<pg.PoolClient>

beforeAll(async () => {
  database = await temporaryDatabase()
  proxy = await openProxy(database.url)
  pool = poolOf(proxy.url, { pipeline: true, max: 1 })
  aside = poolOf(database.url)
  store = postgresStore(pool)
  await store.ready()
  await aside.query('create table effects (id bigint primary key, note text)')
  for (let index = 0; index < 10; index++) await handle(fresh(), index)
})

afterAll(async () => {
  await store.close()
  await Promise.all([pool.end(), aside.end()])
  await proxy.close()
  await database.drop()
})

function fresh(): TransactionRequest<pg.PoolClient> {
  const { id, caller, operation, key, owner, takesUnknown, origin } = sampleRequest()
  // As long as real ones are.
  const fingerprint = id
  return {
    ...{ id, caller, operation, key, owner, fingerprint, takesUnknown, origin },
    ...{ fingerprintsAccepted: [fingerprint], leaseMs: 30_000 },
  }
}

async function handle(request: TransactionRequest<pg.PoolClient>, row: number): Promise<void> {
  const transaction = await store.transactions?.begin(request)
  if (transaction === undefined || !('tx' in transaction)) throw new Error('It is refused.')
  await transaction.tx.query({
    ...{ name: 'effect', text: 'insert into effects values ($1, $2)' },
    values: [row, 'note'],
  })
  await transaction.commit(sampleFinish({ response: BODY }))
}

/** How far the log grew while `run` ran. */
async function walBytes(run: () => Promise<unknown>): Promise<number> {
  const read = async () =>
    (await aside.query<{ lsn: string }>('select pg_current_wal_insert_lsn() as lsn')).rows[0]?.lsn
  const before = await read()
  await run()
  const text = 'select pg_wal_lsn_diff($1, $2)::float8 as bytes'
  return (await aside.query<{ bytes: number }>(text, [await read(), before])).rows[0]?.bytes ?? 0
}

describe('a request in transaction mode', () => {
  it('takes three flights with one statement of the handler', async () => {
    proxy.reset()
    await handle(fresh(), 1000)

    expect(proxy.flights).toBe(3)
  })

  it('writes at most 920 bytes of log, 176 of them for the row of the handler', async () => {
    const sizes: number[] = []
    for (let index = 0; index < 51; index++) {
      sizes.push(await walBytes(() => handle(fresh(), 2000 + index)))
    }

    // Others write to the same log, so that only the least is our own.
    const least = Math.min(...sizes)
    console.info(`WAL of a request in transaction mode: ${least} bytes`)
    expect(least).toBeLessThanOrEqual(920)
  })

  it('replays without writing', async () => {
    const request = fresh()
    await handle(request, 3000)
    const outcomes = new Set<string | undefined>()
    const sizes: number[] = []
    for (let index = 0; index < 20; index++) {
      const replay = async () => {
        outcomes.add((await store.transactions?.begin(request))?.outcome)
        outcomes.add((await store.claim({ ...sampleRequest(), ...request })).outcome)
      }
      sizes.push(await walBytes(replay))
    }

    expect(outcomes).toEqual(new Set(['replay']))
    expect(Math.min(...sizes)).toBe(0)
  })
})

describe('the lease verbs', () => {
  it('take one flight each', async () => {
    const verbs = [
      ...[1, 2].map(() => async () => {
        const request = sampleRequest({ recoveryPoint: 'started' })
        proxy.reset()
        const granted = await store.claim(request)
        const flights = [proxy.flights]
        if (!('claim' in granted)) throw new Error('It is refused.')
        const { claim } = granted
        const step = { recoveryPoint: 'next', state: null, leaseMs: 1000 }
        const rest = [
          () => store.renew(claim, 1000),
          () => store.advance(claim, step),
          () => store.finish(claim, sampleFinish()),
          () => store.find(claim.id),
          () => store.list({ limit: 5 }),
          () => store.sweep(5),
          () => store.stats(),
        ]
        for (const verb of rest) {
          proxy.reset()
          await verb()
          flights.push(proxy.flights)
        }
        return flights
      }),
    ]

    for (const verb of verbs) expect(await verb()).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
  })
})

describe('a table of many records', () => {
  beforeAll(async () => {
    await aside.query(`
      insert into reprise.records (created_at, expires_at, finished_at, fence, status, id, caller,
             operation, key, fingerprint, owner, response, request_id, ip, user_agent)
      select now(), now() + n * interval '1 s', now(), 1, 201, sha256(n::text::bytea), 'acct_1',
             'POST /charges', gen_random_uuid()::text, sha256(n::text::bytea),
             decode(md5(n::text), 'hex'), decode(repeat('00', 300), 'hex'), gen_random_uuid()::text,
             '192.0.2.1', 'curl/8.5.0'
        from generate_series(1, 30000) n`)
    await aside.query(`
      insert into reprise.records (created_at, expires_at, lease_until, fence, id, caller, operation,
             key, fingerprint, owner)
      select now(), now() + interval '1 day', now(), 1, sha256(('u' || n)::bytea), 'acct_1', 'op',
             'key', 'print', 'owner'
        from generate_series(1, 50) n`)
    await aside.query('vacuum analyze reprise.records')
  })

  it('takes at most 710 bytes for a record with an answer of 300, indexes and all', async () => {
    const { rows } = await aside.query<{ bytes: number }>(`
      select pg_total_relation_size('reprise.records')::float8 / count(*) as bytes
        from reprise.records`)
    const bytes = Math.round(rows[0]?.bytes ?? 0)
    console.info(`A record takes ${bytes} bytes with its indexes`)

    expect(bytes).toBeLessThanOrEqual(710)
  })

  const { find, list, listUnfinished, sweep, stats } = queries('reprise')
  const none = [null, null, null]
  it.each([
    ['find', find.text, [Buffer.alloc(32)], ['records_pkey']],
    ['list', list.text, [Buffer.alloc(0), 10, 11, ...none], ['records_pkey']],
    [
      'list of unfinished records',
      listUnfinished.text,
      [Buffer.alloc(0), 10, 11, ...none],
      ['records_unfinished'],
    ],
    ['sweep', sweep.text, [100], ['records_expired']],
    ['stats', stats.text, [], ['records_unfinished']],
  ])('is not scanned by %s', async (_, text, values, indexes) => {
    const { rows } = await aside.query(`explain ${text}`, values)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')

    expect(plan).not.toMatch(/Seq Scan on records/)
    for (const index of indexes) expect(plan).toContain(index)
  })
})

describe('the schema', () => {
  it('keeps records in a logged table', async () => {
    const text = `select relpersistence from pg_class where oid = 'reprise.records'::regclass`
    const { rows } = await aside.query(text)

    expect(rows).toEqual([{ relpersistence: 'p' }])
  })
})
