import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import type { TransactionRequest } from '../../src/engine/transactions.ts'
import type { Statement, Value } from '../../src/stores/postgres/client.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { queries } from '../../src/stores/postgres/queries.ts'
import { pack, packAll } from '../../src/stores/postgres/record.ts'
import { sampleFinish, sampleRequest, take } from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { openProxy, type Proxy } from './postgres-proxy.ts'

const STATEMENTS = queries('reprise')
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
  // As real ones are.
  const fingerprint = `1.${id}`
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

/** How much log a statement writes, by the server's own count. */
async function walBytes(
  on: pg.Pool | pg.PoolClient,
  { text }: Statement,
  values: readonly Value[],
): Promise<number> {
  const { rows } = await on.query(`explain (analyze, wal, format json) ${text}`, [...values])
  return rows[0]['QUERY PLAN'][0].Plan['WAL Bytes']
}

/** The least of three: whoever reads a page first may tidy up in it what others have left dead. */
async function leastWalBytes(statement: Statement, values: readonly Value[]): Promise<number> {
  const all: number[] = []
  for (let turn = 0; turn < 3; turn++) all.push(await walBytes(aside, statement, values))
  return Math.min(...all)
}

async function walOfRecord(): Promise<number> {
  const { id, caller, operation, key, fingerprint, owner, origin } = fresh()
  const client = await aside.connect()
  await client.query('begin')
  const { rows } = await client.query(`select extract(epoch from now())::text as transaction`)
  const bytes = await walBytes(client, STATEMENTS.storeFinished, [
    ...[pack(id), caller, operation, key, pack(fingerprint), pack(owner)],
    ...[BODY.status, BODY.sealed, null, null, origin.requestId, origin.ip, origin.userAgent],
    ...[rows[0].transaction, 86_400_000, null, false],
  ])
  await client.query('commit')
  client.release()
  expect(await store.find(id)).toMatchObject({ status: 'finished' })
  return bytes
}

describe('a request in transaction mode', () => {
  it('takes three flights with one statement of the handler', async () => {
    proxy.reset()
    await handle(fresh(), 1000)

    expect(proxy.flights).toBe(3)
  })

  it('writes at most 810 bytes of log for its record', async () => {
    // The first to touch a page after a checkpoint, or to fill it, writes more: the least is meant.
    const all: number[] = []
    for (let record = 0; record < 5; record++) all.push(await walOfRecord())
    const bytes = Math.min(...all)
    console.info(`WAL of a record in transaction mode: ${bytes} bytes`)

    expect(bytes).toBeGreaterThan(0)
    expect(bytes).toBeLessThanOrEqual(810)
  })

  it('stores its record without a subquery, and without a check that each statement would parse', async () => {
    const values = [...Array.from({ length: 14 }, () => null), 1000, null, false]
    const { rows } = await aside.query(`explain ${STATEMENTS.storeFinished.text}`, values)
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n')
    const checks = await aside.query(
      `select conname from pg_constraint where conrelid = 'reprise.records'::regclass and contype = 'c'`,
    )

    expect(plan).toContain('Insert on records')
    expect(plan).not.toContain('Subquery Scan')
    expect(checks.rows).toEqual([])
  })

  it('replays without writing', async () => {
    const request = fresh()
    await handle(request, 3000)
    const { id, caller, operation, key, fingerprint, owner } = request
    const bytes = [
      await leastWalBytes(STATEMENTS.beginTransaction, [
        ...[pack(id), '1', '2', packAll([fingerprint]), false, false, 1000],
      ]),
      await leastWalBytes(STATEMENTS.look, [pack(id), packAll([fingerprint]), false]),
      await leastWalBytes(STATEMENTS.claim, [
        ...[pack(id), caller, operation, key, pack(fingerprint), packAll([fingerprint])],
        ...[pack(owner), 1000, 1000, null, false, null, null, null, null, null, null, false],
      ]),
    ]

    expect((await store.transactions?.begin(request))?.outcome).toBe('replay')
    expect(bytes).toEqual([0, 0, 0])
  })
})

/** Asks, and waits until nothing is left to be sent: the pool has one connection. */
async function outcomeOf(
  request: TransactionRequest<pg.PoolClient>,
  asked = store,
): Promise<string | undefined> {
  const begun = await asked.transactions?.begin(request)
  if (begun !== undefined && 'tx' in begun) await begun.rollback()
  const connection = await pool.connect()
  connection.release()
  return begun?.outcome
}

describe('a request whose key is taken in another process', () => {
  const taken = async (request: TransactionRequest<pg.PoolClient>) => {
    const transaction = await postgresStore(aside).transactions?.begin(request)
    if (transaction === undefined || !('tx' in transaction)) throw new Error('It is refused.')
    expect(await outcomeOf(request)).toBe('in_progress')
    proxy.reset()
    expect(await outcomeOf(request)).toBe('in_progress')
    expect(proxy.flights).toBe(1)
    return transaction
  }

  it('takes one flight to ask again, and one for the answer', async () => {
    const request = fresh()
    const transaction = await taken(request)
    await transaction.commit(sampleFinish({ response: BODY }))

    proxy.reset()
    expect(await outcomeOf(request)).toBe('replay')
    expect(proxy.flights).toBe(1)
  })

  it('is executed once the other has rolled back, and nobody is locked out by who asked', async () => {
    const request = fresh()
    const transaction = await taken(request)
    await transaction.rollback()

    expect(await outcomeOf(request)).toBe('execute')
    await handle(request, 7000)
    expect(await outcomeOf(request)).toBe('replay')
  })
})

describe('a request whose record was seen with its answer', () => {
  it('takes one flight, and none more than before where it is another or gone', async () => {
    const request = fresh()
    await handle(request, 5000)
    expect(await outcomeOf(request)).toBe('replay')

    proxy.reset()
    expect(await outcomeOf(request)).toBe('replay')
    expect(proxy.flights).toBe(1)
    expect(await outcomeOf({ ...request, fingerprintsAccepted: ['another'] })).toBe('mismatch')
    expect(proxy.flights).toBe(2)

    const expire = `update reprise.records set expires_at = now() - interval '1 s' where id = $1`
    await aside.query(expire, [pack(request.id)])
    expect(await outcomeOf(request)).toBe('execute')
    await handle(request, 5001)
    expect(await outcomeOf(request)).toBe('replay')
  })

  it('takes a transaction in a process that has not seen it, the first time', async () => {
    const request = fresh()
    await handle(request, 6000)
    const other = postgresStore(pool)
    await other.ready()

    proxy.reset()
    expect(await outcomeOf(request, other)).toBe('replay')
    expect(proxy.flights).toBe(2)
    expect(await outcomeOf(request, other)).toBe('replay')
    expect(proxy.flights).toBe(3)
    const { rows } = await aside.query(`
      select count(*)::integer as locks
        from pg_locks join pg_database d on d.oid = database
       where locktype = 'advisory' and datname = current_database()`)
    expect(rows).toEqual([{ locks: 0 }])
  })
})

describe('the lease verbs', () => {
  it('take one flight each', async () => {
    // What is sent for the first time is prepared then, and an earlier rollback may be on its way.
    for (let round = 0; round < 2; round++) {
      await store.stats()
      proxy.reset()
      const { claim } = await take(store, sampleRequest({ recoveryPoint: 'started' }))
      const flights = [proxy.flights]
      const step = { recoveryPoint: 'next', state: null, leaseMs: 1000 }
      const verbs = [
        () => store.renew(claim, 1000),
        () => store.advance(claim, step),
        () => store.finish(claim, sampleFinish()),
        () => store.find(claim.id),
        () => store.list({ limit: 5 }),
        () => store.sweep(5),
        () => store.stats(),
      ]
      for (const verb of verbs) {
        proxy.reset()
        await verb()
        flights.push(proxy.flights)
      }

      expect(flights).toEqual([1, 1, 1, 1, 1, 1, 1, 1])
    }
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

  it('takes at most 700 bytes for a record with an answer of 300, indexes and all', async () => {
    const { rows } = await aside.query<{ bytes: number }>(`
      select pg_total_relation_size('reprise.records')::float8 / count(*) as bytes
        from reprise.records`)
    const bytes = Math.round(rows[0]?.bytes ?? 0)
    console.info(`A record takes ${bytes} bytes with its indexes`)

    expect(bytes).toBeLessThanOrEqual(700)
  })

  const { find, list, listUnfinished, sweep, stats } = STATEMENTS
  const none = [null, null, null]
  it.each([
    ['find', find.text, [Buffer.alloc(32)], ['records_pkey']],
    ['list', list.text, [Buffer.alloc(0), 10, 11, ...none], ['records_pkey']],
    [
      'list of unfinished records',
      listUnfinished.text,
      [Buffer.alloc(0), 10, 11, ...none],
      ['records_open'],
    ],
    ['sweep', sweep.text, [100, 0], ['records_expired']],
    ['stats', stats.text, [], []],
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
