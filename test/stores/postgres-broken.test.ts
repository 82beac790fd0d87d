import pg from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import type { OpenTransaction } from '../../src/engine/transactions.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { rivalOf, sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { open } from '../../src/testing/contract/transaction.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { openProxy, type Proxy } from './postgres-proxy.ts'

/** A store with the statements of a handler, whatever the library. */
interface Subject {
  readonly store: Store<unknown>
  /** Executes in the transaction; gives the first column of the first row. */
  execute(tx: unknown, text: string): Promise<unknown>
  /** Executes outside of it, through the same client. */
  executeAside(text: string): Promise<unknown>
  end(): Promise<void>
}

function overPg(url: string, settings: pg.PoolConfig): Subject {
  const pool = poolOf(url, { max: 3, ...settings })
  return {
    store: postgresStore(pool),
    async execute(tx, text) {
      // The transactions of this store are connections of pg.
      const { rows } = await (tx as pg.PoolClient).query({ text, rowMode: 'array' })
      return rows[0]?.[0]
    },
    executeAside: (text) => pool.query(text),
    end: () => pool.end(),
  }
}

function overPostgresJs(url: string): Subject {
  const sql = postgres(url, { max: 3 })
  return {
    store: postgresStore(sql),
    async execute(tx, text) {
      // The transactions of this store are those of postgres.js.
      const [row] = await (tx as postgres.TransactionSql).unsafe(text).values()
      return row?.[0]
    },
    executeAside: (text) => sql.unsafe(text),
    end: () => sql.end({ timeout: 1 }),
  }
}

/** How a library tells of a connection that breaks. */
interface Manner {
  /** What a commit comes to whose answer is lost: the store asks by itself where the library commits. */
  readonly lostCommit: 'none' | 'disconnected'
  /** Whether the first statement on the next connection may get the error of the broken one. */
  readonly isErrorCarried: boolean
}

const OF_PG: Manner = { lostCommit: 'disconnected', isErrorCarried: false }

const LIBRARIES: readonly [string, (url: string) => Subject, Manner][] = [
  ['pg', (url) => overPg(url, {}), OF_PG],
  ['pg, pipelined', (url) => overPg(url, { pipeline: true }), OF_PG],
  ['postgres.js', overPostgresJs, { lostCommit: 'none', isErrorCarried: true }],
]

let database: TemporaryDatabase
let proxy: Proxy
let admin: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  proxy = await openProxy(database.url)
  admin = poolOf(database.url)
  await postgresStore(admin).ready()
  await admin.query('create table effects (id integer generated always as identity)')
  await admin.query(`
    create function end_session() returns trigger language plpgsql as $$
    begin
      perform pg_terminate_backend(pg_backend_pid());
      return null;
    end
    $$`)
  await admin.query('create table deadly (id integer)')
  await admin.query(`
    create constraint trigger deadly after insert on deadly deferrable initially deferred
       for each row execute function end_session()`)
})

afterAll(async () => {
  await admin.end()
  await proxy.close()
  await database.drop()
})

async function countEffects(): Promise<number> {
  return (await admin.query('select from effects')).rowCount ?? 0
}

/** What a promise is rejected with. */
async function errorOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => expect.unreachable('It is expected to fail.'),
    (error: unknown) => error,
  )
}

describe.each(LIBRARIES)('a connection of %s that breaks', (_, make, manner) => {
  let subject: Subject
  let store: Store<unknown>

  beforeEach(() => {
    subject = make(proxy.url)
    store = subject.store
  })
  afterEach(async () => {
    await store.close()
    await subject.end()
  })

  /** Tries twice where the library may give the first try the error of the broken connection. */
  function insist<T>(run: () => Promise<T>): Promise<T> {
    return manner.isErrorCarried ? run().catch(run) : run()
  }

  function faultOf(error: unknown): string | undefined {
    return store.transactions?.classify(error)
  }

  async function kill(transaction: OpenTransaction<unknown>): Promise<void> {
    const pid = await subject.execute(transaction.tx, 'select pg_backend_pid()')
    await admin.query('select pg_terminate_backend($1, 5000)', [pid])
  }

  it('takes the work of the handler with it, and nothing is stored', async () => {
    const request = sampleRequest()
    const before = await countEffects()
    const transaction = await open({ store }, request)
    await subject.execute(transaction.tx, 'insert into effects default values')
    await kill(transaction)
    const error = await errorOf(transaction.commit(sampleFinish()))
    await transaction.rollback()

    expect(faultOf(error)).toBe('disconnected')
    expect(await countEffects()).toBe(before)
    expect(await insist(() => store.find(request.id))).toBeUndefined()
  })

  it('lets no later statement of the handler take effect', async () => {
    const before = await countEffects()
    const transaction = await open({ store }, sampleRequest())
    await kill(transaction)
    // Other work makes the client open new connections meanwhile.
    await Promise.all([1, 2, 3].map(() => subject.executeAside('select pg_sleep(0.01)')))
    const late = errorOf(subject.execute(transaction.tx, 'insert into effects default values'))

    expect(faultOf(await late)).toBe('disconnected')
    await transaction.rollback()
    expect(await countEffects()).toBe(before)
  })

  it('leaves the key to the next run', async () => {
    const request = sampleRequest()
    const broken = await open({ store }, request)
    await kill(broken)
    await broken.rollback()
    const transaction = await insist(() => open({ store }, rivalOf(request)))
    await transaction.commit(sampleFinish())

    expect((await store.find(request.id))?.status).toBe('finished')
  })

  it('stores nothing when it breaks between the record and the commit', async () => {
    const request = sampleRequest()
    const transaction = await open({ store }, request)
    await subject.execute(transaction.tx, 'insert into deadly values (1)')
    const error = await errorOf(transaction.commit(sampleFinish()))
    await transaction.rollback()

    expect(faultOf(error)).toBe('disconnected')
    expect(await insist(() => store.find(request.id))).toBeUndefined()
    expect((await admin.query('select from deadly')).rowCount).toBe(0)
  })

  it('is told from a commit whose answer is lost by asking again', async () => {
    const request = sampleRequest()
    const before = await countEffects()
    const transaction = await open({ store }, request)
    await subject.execute(transaction.tx, 'insert into effects default values')
    proxy.cutAt(/commit/)
    const commit = transaction.commit(sampleFinish())
    const fault = await commit.then(() => 'none', faultOf)
    await transaction.rollback()

    expect(fault).toBe(manner.lostCommit)
    // The server may still be at the commit, whose answer is the only thing that was cut.
    await vi.waitFor(async () => {
      const again = await insist(async () => store.transactions?.begin(request))
      expect(again).toMatchObject({ outcome: 'replay', owner: request.owner })
    })
    expect(await countEffects()).toBe(before + 1)
  })

  it('does not stop the verbs', async () => {
    const transaction = await open({ store }, sampleRequest())
    await kill(transaction)
    await transaction.rollback()
    const granted = await insist(() => store.claim(sampleRequest()))

    expect(granted.outcome).toBe('execute')
    if ('claim' in granted) await store.release(granted.claim, 'forget')
  })
})

describe('a server that can not be reached', () => {
  it.each([
    ['pg', () => overPg('postgres://127.0.0.1:1/none', {})],
    ['postgres.js', () => overPostgresJs('postgres://127.0.0.1:1/none')],
  ])('makes the store unavailable through %s', async (_, make) => {
    const { store, end } = make()
    const failures = await Promise.all([
      errorOf(store.ready()),
      errorOf(store.claim(sampleRequest())),
      errorOf(open({ store }, sampleRequest())),
    ])
    await end()

    for (const error of failures) {
      expect(error).toMatchObject({
        code: 'idempotency-store-unavailable',
        cause: { code: 'ECONNREFUSED' },
      })
      expect(store.transactions?.classify(error)).toBe('disconnected')
    }
  })
})
