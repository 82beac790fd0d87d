import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { DuplicateRequest } from '../../src/engine/duplicate-request.ts'
import type { Store } from '../../src/engine/store.ts'
import type { OpenTransaction, TransactionRequest } from '../../src/engine/transactions.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  impostorOf,
  rivalOf,
  sampleFinish,
  sampleRequest,
} from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { openProxy, type Proxy } from './postgres-proxy.ts'

type Tx = pg.PoolClient

const ADD = { name: 'add', text: 'insert into effects (note) values ($1)', values: ['x'] }
const SIMPLE = `insert into effects (note) values ('simple')`

let database: TemporaryDatabase
let proxy: Proxy
let pool: pg.Pool
let aside: pg.Pool
let store: Store<Tx>
/** The same data from elsewhere, claiming first. */
let peer: Store<Tx>

beforeAll(async () => {
  database = await temporaryDatabase()
  proxy = await openProxy(database.url)
  pool = poolOf(proxy.url, { pipeline: true, max: 1 })
  aside = poolOf(database.url)
  store = postgresStore(pool)
  peer = postgresStore(aside)
  await store.ready()
  await aside.query('create table effects (id bigint generated always as identity, note text)')
  // The first on a connection prepares, and tells the isolation that the database gives.
  for (let round = 0; round < 3; round++) await commitOne(held())
})

beforeEach(async () => {
  await aside.query('truncate effects')
})

afterAll(async () => {
  await Promise.all([pool.end(), aside.end()])
  await proxy.close()
  await database.drop()
})

function held(request: TransactionRequest<Tx> = sampleRequest()): TransactionRequest<Tx> {
  return { ...request, claim: 'with-first-statement' }
}

async function begin(request: TransactionRequest<Tx>, on = store): Promise<OpenTransaction<Tx>> {
  const begun = await on.transactions?.begin(request)
  if (begun === undefined || !('tx' in begun)) throw new Error(`Refused: ${begun?.outcome}`)
  return begun
}

async function commitOne(request: TransactionRequest<Tx>, on = store): Promise<void> {
  const transaction = await begin(request, on)
  await transaction.tx.query(ADD)
  await transaction.commit(sampleFinish())
}

async function notes(): Promise<readonly string[]> {
  const { rows } = await aside.query<{ note: string }>('select note from effects order by id')
  return rows.map(({ note }) => note)
}

/** Opens a transaction whose claim will be refused, because the peer has answered the request. */
async function openRefused(): Promise<OpenTransaction<Tx>> {
  const request = sampleRequest()
  await (await begin(request, peer)).commit(sampleFinish())
  return begin(held(rivalOf(request)))
}

async function rollback(begun: object | undefined): Promise<void> {
  expect(begun).toHaveProperty('rollback')
  // Just checked.
  await (begun as OpenTransaction<unknown>).rollback()
}

/** The error that the promise is rejected with. */
async function faultOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

describe('a claim with the first statement', () => {
  it('takes two flights with one statement of the handler', async () => {
    const request = sampleRequest()
    proxy.reset()
    await commitOne(held(request))

    expect(proxy.flights).toBe(2)
    expect(await notes()).toEqual(['x'])
    expect((await peer.transactions?.begin(rivalOf(request)))?.outcome).toBe('replay')
  })

  it('travels with a statement that has no name', async () => {
    const transaction = await begin(held())
    proxy.reset()
    const { rows } = await transaction.tx.query('select $1::text as one', ['1'])
    await transaction.commit(sampleFinish())

    expect(rows).toEqual([{ one: '1' }])
    expect(proxy.flights).toBe(2)
  })

  it('gives the statement its own rows, in its own mode', async () => {
    const transaction = await begin(held())
    const text = 'insert into effects (note) values ($1), ($2) returning note, 7 as seven'
    const result = await transaction.tx.query({ text, values: ['a', 'b'], rowMode: 'array' })
    await transaction.rollback()

    expect(result.command).toBe('INSERT')
    expect(result.rowCount).toBe(2)
    expect(result.rows).toEqual([
      ['a', 7],
      ['b', 7],
    ])
  })

  it('hands a failure of the statement on as it is', async () => {
    const transaction = await begin(held())
    const fault = await faultOf(transaction.tx.query('select 1 / $1::integer', [0]))
    expect(fault).toMatchObject({ code: '22012' })
    expect(transaction.held?.isGranted).toBe(true)
    expect(await faultOf(transaction.commit(sampleFinish()))).toMatchObject({ code: '25P02' })
    await commitOne(held())
  })

  it('hands a value on that can not be sent, and goes on', async () => {
    const transaction = await begin(held())
    const value = {
      toPostgres() {
        throw new RangeError('not this')
      },
    }
    const text = 'insert into effects (note) values ($1)'
    await expect(transaction.tx.query(text, [value])).rejects.toThrow('not this')
    await transaction.tx.query(ADD)
    await transaction.commit(sampleFinish())

    expect(await notes()).toEqual(['x'])
  })

  it('keeps the order of statements that are sent at once', async () => {
    const transaction = await begin(held())
    const { tx } = transaction
    await Promise.all([
      tx.query({ ...ADD, values: ['1'] }),
      tx.query(`insert into effects (note) values ('2')`),
      tx.query({ ...ADD, values: ['3'] }),
    ])
    await transaction.commit(sampleFinish())

    expect(await notes()).toEqual(['1', '2', '3'])
  })

  it.each([
    ['a setting', `set local application_name = 'first'`],
    ['a savepoint', 'savepoint one'],
    ['a text of several', `${SIMPLE}; select 1`],
    ['a text without values', SIMPLE],
  ])('goes before %s', async (_, text) => {
    const transaction = await begin(held())
    await transaction.tx.query(text)
    await transaction.tx.query(ADD)
    await transaction.commit(sampleFinish())

    expect((await notes()).at(-1)).toBe('x')
  })

  it('goes before a statement with a callback', async () => {
    const transaction = await begin(held())
    const rowCount = await new Promise((resolve, reject) => {
      transaction.tx.query(ADD.text, ['called'], (error, result) =>
        error ? reject(error) : resolve(result.rowCount),
      )
    })
    await transaction.commit(sampleFinish())

    expect(rowCount).toBe(1)
    expect(await notes()).toEqual(['called'])
  })

  it('is made at the commit where there was no statement', async () => {
    const request = held()
    await (await begin(request)).commit(sampleFinish())

    expect((await store.find(request.id))?.status).toBe('finished')
  })

  it('goes before a job that is staged first', async () => {
    const request = held()
    const transaction = await begin(request)
    const job = { name: 'mail', args: '{}', runAt: null, dedupeKey: null }
    expect(await transaction.stage?.(job)).toBeTypeOf('string')
    await transaction.commit(sampleFinish())

    const { rowCount } = await aside.query('select from reprise.staged_jobs')
    expect(rowCount).toBe(1)
  })

  it('sends nothing where nothing was asked', async () => {
    const transaction = await begin(held())
    proxy.reset()
    await transaction.keepAlive()
    await transaction.rollback()
    expect(proxy.flights).toBe(0)
    await expect(transaction.tx.query(ADD)).rejects.toThrow('The transaction is over.')
    await commitOne(held())

    expect(await notes()).toEqual(['x'])
  })

  it('leaves a handle behind that sends nothing after the commit', async () => {
    const transaction = await begin(held())
    await transaction.tx.query(ADD)
    await transaction.commit(sampleFinish())
    await expect(transaction.tx.query(ADD)).rejects.toThrow('The transaction is over.')

    expect(await notes()).toEqual(['x'])
  })

  it('is kept alive once it was granted', async () => {
    const transaction = await begin(held())
    await transaction.tx.query(ADD)
    proxy.reset()
    await transaction.keepAlive()
    expect(proxy.sent).toContain('select 1')
    await transaction.rollback()
  })
})

describe('a refused claim', () => {
  it('is refused with its statement, and with every one after it', async () => {
    const transaction = await openRefused()
    const { tx } = transaction
    const fault = await faultOf(tx.query(ADD))
    expect(fault).toBeInstanceOf(DuplicateRequest)
    expect(fault).toMatchObject({ code: 'reprise-duplicate-request', name: 'RepriseError' })
    proxy.reset()
    expect(await faultOf(tx.query(ADD))).toBe(fault)
    expect(await faultOf(tx.query('rollback'))).toBe(fault)
    const job = { name: 'mail', args: '{}', runAt: null, dedupeKey: null }
    expect(await faultOf(transaction.stage?.(job) ?? Promise.resolve())).toBe(fault)
    expect(await faultOf(transaction.commit(sampleFinish()))).toBe(fault)
    expect(proxy.flights).toBe(0)
    expect(transaction.held?.isGranted).toBe(false)
    await transaction.rollback()
    expect(await faultOf(tx.query(ADD))).toBe(fault)

    expect(await notes()).toEqual([])
    await commitOne(held())
    expect(await notes()).toEqual(['x'])
  })

  it.each<readonly [string, string | pg.QueryConfig]>([
    ['a rollback before an insert', `rollback; ${SIMPLE}`],
    ['a commit before an insert', `commit; ${SIMPLE}`],
    ['a second transaction', `commit; begin; ${SIMPLE}; commit`],
    ['a plain insert', SIMPLE],
    ['a rollback', 'rollback'],
    ['a prepared rollback', { name: 'undo', text: 'rollback' }],
    ['a prepared commit', { name: 'close', text: 'commit' }],
    ['an insert that is not prepared yet', { ...ADD, name: 'other_add' }],
    ['an insert behind a comment', { ...ADD, name: '', text: `/* app */ ${ADD.text}` }],
  ])('executes nothing of %s, nor of what is sent with it', async (_, first) => {
    const transaction = await openRefused()
    const { tx } = transaction
    const faults = await Promise.all(
      [first, ADD, `rollback; ${SIMPLE}`, ADD].map((one) => faultOf(tx.query(one))),
    )
    for (const fault of faults) expect(fault).toBeInstanceOf(DuplicateRequest)
    await transaction.rollback()

    expect(await notes()).toEqual([])
  })

  it('executes nothing of what is sent behind a first statement that travels', async () => {
    const transaction = await openRefused()
    const { tx } = transaction
    const faults = await Promise.all(
      [ADD, `rollback; ${SIMPLE}`, 'commit', SIMPLE].map((one) => faultOf(tx.query(one))),
    )
    for (const fault of faults) expect(fault).toBeInstanceOf(DuplicateRequest)
    await transaction.rollback()

    expect(await notes()).toEqual([])
  })

  it('tells callbacks and queries of one’s own', async () => {
    const transaction = await openRefused()
    const { tx } = transaction
    const called = new Promise((resolve) => {
      tx.query(ADD.text, ['x'], (error) => resolve(error))
    })
    const own = new pg.Query(SIMPLE)
    const emitted = new Promise((resolve) => own.on('error', resolve))
    expect(tx.query(own)).toBe(own)
    expect(await called).toBeInstanceOf(DuplicateRequest)
    expect(await emitted).toBeInstanceOf(DuplicateRequest)
    await transaction.rollback()

    expect(await notes()).toEqual([])
  })

  it('is refused while another transaction has the key, and lets go of its locks', async () => {
    const request = sampleRequest()
    const other = await begin(request, peer)
    for (const rival of [rivalOf(request), impostorOf(request)]) {
      const transaction = await begin(held(rival))
      expect(await faultOf(transaction.tx.query(ADD))).toBeInstanceOf(DuplicateRequest)
      // Refused, it holds nothing, though nobody has rolled it back yet.
      const { rows } = await aside.query<{ count: number }>(
        `select count(*)::integer from pg_locks l join pg_database d on d.oid = l.database
          where l.locktype = 'advisory' and d.datname = current_database()`,
      )
      expect(rows).toEqual([{ count: 2 }])
      await transaction.rollback()
    }
    await other.rollback()

    expect(await notes()).toEqual([])
  })

  it('is refused by a lease, and by an outcome that is unknown', async () => {
    const request = sampleRequest()
    await peer.claim(request)
    for (const lapse of [false, true]) {
      if (lapse) await aside.query('update reprise.records set lease_until = now()')
      const transaction = await begin(held(rivalOf(request)))
      expect(await faultOf(transaction.tx.query(ADD))).toBeInstanceOf(DuplicateRequest)
      await transaction.rollback()
    }
    expect(await notes()).toEqual([])
    const heir = await begin(held(rivalOf(request, { takesUnknown: true })))
    await heir.tx.query(ADD)
    await heir.commit(sampleFinish())

    expect(await notes()).toEqual(['x'])
  })
})

describe('a begin that fails', () => {
  it('has nothing executed of what travels behind it', async () => {
    const connection = await pool.connect()
    await connection.query('set role pg_read_all_stats')
    connection.release()
    const transaction = await begin(held())
    const fault = await faultOf(transaction.tx.query(ADD))
    expect(fault).toMatchObject({ code: '42501' })
    expect(await faultOf(transaction.tx.query(ADD))).toBe(fault)
    await expect(transaction.held?.claim()).rejects.toMatchObject({
      code: 'idempotency-store-unavailable',
    })
    await transaction.rollback()

    expect(await notes()).toEqual([])
    for (let round = 0; round < 2; round++) await commitOne(held())
    expect(await notes()).toEqual(['x', 'x'])
  })

  it('has nothing executed where the connection breaks', async () => {
    const request = held()
    const transaction = await begin(request)
    proxy.cutAt(/reprise_begin_or_fail/)
    const fault = await faultOf(transaction.tx.query(ADD))
    expect(store.transactions?.classify(fault)).toBe('disconnected')
    await expect(transaction.held?.claim()).rejects.toMatchObject({
      code: 'idempotency-store-unavailable',
    })
    await transaction.rollback()

    expect(await notes()).toEqual([])
    for (let round = 0; round < 2; round++) await commitOne(held())
  })
})

describe('where it can not be held back', () => {
  it('is made first', async () => {
    const sql = postgres(database.url, { max: 2, onnotice: () => {} })
    const connection = await pool.connect()
    const plain = await begin(held(), peer)
    const serializable = await begin({ ...held(), isolation: 'serializable' }, peer)
    const onOwn = await begin({ ...held(), connection })
    const sqlStore = postgresStore(sql)
    const claim = 'with-first-statement'
    await rollback(await sqlStore.transactions?.begin({ ...sampleRequest(), claim }))
    const begun = await sqlStore.transactions?.begin({ ...sampleRequest(), claim })
    const opened = [plain, serializable, onOwn, begun]
    for (const one of opened) {
      expect(one).not.toHaveProperty('held', expect.anything())
      await rollback(one)
    }
    connection.release()
    await sql.end()
  })

  it('is made first at serializable, where the record is looked for outside', async () => {
    const transaction = await begin({ ...held(), isolation: 'serializable' })
    expect(transaction.held).toBeUndefined()
    await transaction.rollback()
    const repeatable = await begin({ ...held(), isolation: 'repeatable read' })
    expect(repeatable.held).toBeDefined()
    await repeatable.tx.query(ADD)
    await repeatable.commit(sampleFinish())

    expect(await notes()).toEqual(['x'])
  })
})
