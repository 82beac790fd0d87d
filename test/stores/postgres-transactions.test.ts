import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import type { OpenTransaction, TransactionRequest } from '../../src/engine/transactions.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import {
  impostorOf,
  rivalOf,
  sampleFinish,
  sampleRequest,
} from '../../src/testing/contract/sample.ts'
import { open } from '../../src/testing/contract/transaction.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

const ADD = 'insert into effects default values'

let database: TemporaryDatabase
let pool: pg.Pool
let sql: postgres.Sql
let peerPool: pg.Pool
let store: Store<pg.PoolClient>
let peer: Store<pg.PoolClient>
let sqlStore: Store<postgres.ReservedSql | postgres.TransactionSql>

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url)
  sql = postgres(database.url, { onnotice: () => {} })
  peerPool = poolOf(database.url)
  store = postgresStore(pool)
  peer = postgresStore(peerPool)
  sqlStore = postgresStore(sql)
  await store.ready()
  await pool.query('create table effects (id integer generated always as identity)')
})

afterAll(async () => {
  await Promise.all([pool.end(), peerPool.end(), sql.end()])
  await database.drop()
})

async function countEffects(): Promise<number> {
  return (await pool.query('select from effects')).rowCount ?? 0
}

/** Begins and demands that the transaction is open. */
async function begin<Tx>(
  on: Store<Tx>,
  request: TransactionRequest<Tx>,
): Promise<OpenTransaction<Tx>> {
  const begun = await on.transactions?.begin(request)
  if (begun === undefined || !('tx' in begun)) throw new Error(`Refused: ${begun?.outcome}`)
  return begun
}

/** Runs with a connection of the user's own. */
async function withConnection(run: (connection: pg.PoolClient) => Promise<void>): Promise<void> {
  const connection = await pool.connect()
  try {
    await run(connection)
    // The one that every connection of the pool has from the start, and none of a transaction.
    expect(connection.listenerCount('error')).toBe(1)
  } finally {
    connection.release()
  }
}

describe('a connection of the user', () => {
  it('is begun and committed on, and stays with the user', async () => {
    const request = sampleRequest()
    const before = await countEffects()
    await withConnection(async (connection) => {
      const transaction = await begin(store, { ...request, connection })
      expect(transaction.tx).toBeInstanceOf(pg.Client)
      expect(transaction.tx).toHaveProperty('processID', Reflect.get(connection, 'processID'))
      await transaction.tx.query(ADD)
      await transaction.commit(sampleFinish())
      expect((await connection.query('select 1 as one')).rows).toEqual([{ one: 1 }])
    })

    expect(await countEffects()).toBe(before + 1)
    expect((await store.find(request.id))?.status).toBe('finished')
  })

  it('leaves the record of an earlier run until it commits, however often it was asked for', async () => {
    const request = sampleRequest()
    const claimed = await store.claim(request)
    if (!('claim' in claimed)) throw new Error('It is not fresh.')
    const rival = rivalOf(request, { takesUnknown: true })
    expect((await store.transactions?.begin(rival))?.outcome).toBe('in_progress')
    // As a crash leaves it, when the lease has lapsed.
    await store.release(claimed.claim, 'suspend')

    const transaction = await begin(store, rival)
    expect(transaction.outcome).toBe('recover')
    await transaction.rollback()
    expect((await store.find(request.id))?.record.fingerprint).toBe(request.fingerprint)
    expect((await store.transactions?.begin(impostorOf(request)))?.outcome).toBe('mismatch')
  })

  it('has no open transaction after a refusal', async () => {
    const request = sampleRequest()
    await (await begin(store, request)).commit(sampleFinish())
    await withConnection(async (connection) => {
      const refusal = await store.transactions?.begin({ ...rivalOf(request), connection })
      expect(refusal?.outcome).toBe('replay')
      const text = 'select now() < statement_timestamp() as is_open'
      expect((await connection.query(text)).rows).toEqual([{ is_open: false }])
    })
  })

  it('is used through postgres.js too', async () => {
    const request = sampleRequest()
    const before = await countEffects()
    const connection = await sql.reserve()
    const transaction = await begin(sqlStore, { ...request, connection })
    await transaction.tx.unsafe(ADD)
    await transaction.commit(sampleFinish())
    const rolledBack = await begin(sqlStore, { ...sampleRequest(), connection })
    await rolledBack.tx.unsafe(ADD)
    await rolledBack.rollback()
    connection.release()

    expect(await countEffects()).toBe(before + 1)
    expect((await store.find(request.id))?.status).toBe('finished')
  })
})

describe('a joined transaction', () => {
  it('commits with the user, not before', async () => {
    const request = sampleRequest()
    const before = await countEffects()
    await withConnection(async (join) => {
      await join.query('begin')
      const transaction = await begin(store, { ...request, join })
      await join.query(ADD)
      await transaction.commit(sampleFinish())
      expect(await store.find(request.id)).toBeUndefined()
      expect((await store.transactions?.begin(rivalOf(request)))?.outcome).toBe('in_progress')
      expect((await store.transactions?.begin(impostorOf(request)))?.outcome).toBe('mismatch')
      await join.query('commit')
    })

    expect(await countEffects()).toBe(before + 1)
    expect((await store.transactions?.begin(rivalOf(request)))?.outcome).toBe('replay')
  })

  it('may be older than its answer is kept: when it is committed is up to the user', async () => {
    const request = sampleRequest()
    await withConnection(async (join) => {
      await join.query('begin; select pg_sleep(0.02)')
      const transaction = await begin(store, { ...request, join })
      await transaction.commit(sampleFinish({ retentionMs: 1 }))
      await join.query('commit')
    })

    expect(await store.find(request.id)).toBeDefined()
  })

  it('leaves nothing when the user rolls back', async () => {
    const request = sampleRequest()
    const before = await countEffects()
    await withConnection(async (join) => {
      await join.query('begin')
      const transaction = await begin(store, { ...request, join })
      await join.query(ADD)
      await transaction.commit(sampleFinish())
      await join.query('rollback')
    })

    expect(await countEffects()).toBe(before)
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('undoes its own part only, also after a statement that failed', async () => {
    const request = sampleRequest()
    const before = await countEffects()
    await withConnection(async (join) => {
      await join.query('begin')
      await join.query(ADD)
      const transaction = await begin(store, { ...request, join })
      await join.query(ADD)
      await join.query('select 1 / 0').catch(() => {})
      await expect(transaction.commit(sampleFinish())).rejects.toMatchObject({ code: '25P02' })
      await transaction.rollback()
      await join.query(ADD)
      await join.query('commit')
    })

    expect(await countEffects()).toBe(before + 2)
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('undoes all of its part when a transaction inside of it was undone before', async () => {
    const before = await countEffects()
    await withConnection(async (join) => {
      await join.query('begin')
      const outer = await begin(store, { ...sampleRequest(), join })
      await join.query(ADD)
      const inner = await begin(store, { ...sampleRequest(), join })
      await join.query(ADD)
      await inner.rollback()
      await outer.rollback()
      await join.query('commit')
    })

    expect(await countEffects()).toBe(before)
  })

  it('refuses a duplicate inside the same transaction', async () => {
    const request = sampleRequest()
    await withConnection(async (join) => {
      await join.query('begin')
      const transaction = await begin(store, { ...request, join })
      const early = await store.transactions?.begin({ ...rivalOf(request), join })
      await transaction.commit(sampleFinish())
      const late = await store.transactions?.begin({ ...rivalOf(request), join })
      const other = await store.transactions?.begin({ ...impostorOf(request), join })
      await join.query('commit')

      expect([early, late, other].map((one) => one?.outcome)).toEqual([
        ...['in_progress', 'replay', 'mismatch'],
      ])
    })
    expect((await store.find(request.id))?.status).toBe('finished')
  })

  it('keeps the settings of the user', async () => {
    await withConnection(async (join) => {
      await join.query('begin')
      const transaction = await begin(store, { ...sampleRequest(), join })
      const { rows } = await join.query('show idle_in_transaction_session_timeout')
      await transaction.keepAlive()
      await transaction.rollback()
      await join.query('rollback')
      expect(rows).toEqual([{ idle_in_transaction_session_timeout: '0' }])
    })
  })

  it('is one of sql.begin of postgres.js', async () => {
    const [kept, undone] = [sampleRequest(), sampleRequest()]
    const before = await countEffects()
    await sql.begin(async (join) => {
      const transaction = await begin(sqlStore, { ...kept, join })
      await transaction.tx.unsafe(ADD)
      await transaction.commit(sampleFinish())
      const second = await begin(sqlStore, { ...undone, join })
      await second.tx.unsafe(ADD)
      await second.tx.unsafe('select 1 / 0').catch(() => {})
      await second.rollback()
      const again = await sqlStore.transactions?.begin({ ...rivalOf(kept), join })
      expect(again?.outcome).toBe('replay')
    })

    expect(await countEffects()).toBe(before + 1)
    expect((await store.find(kept.id))?.status).toBe('finished')
    expect(await store.find(undone.id)).toBeUndefined()
  })

  it('is one of a reserved connection of postgres.js', async () => {
    const request = sampleRequest()
    const join = await sql.reserve()
    await join.unsafe('begin')
    await (await begin(sqlStore, { ...request, join })).commit(sampleFinish())
    await join.unsafe('commit')
    join.release()

    expect((await store.find(request.id))?.status).toBe('finished')
  })
})

describe('a transaction of the store', () => {
  it('stores no record when the handler has committed by itself', async () => {
    for (const ending of ['commit', 'rollback', 'commit; begin']) {
      const request = sampleRequest()
      const transaction = await begin(store, request)
      await transaction.tx.query(ending)

      await expect(transaction.commit(sampleFinish())).rejects.toThrow('ended the transaction')
      expect(await store.find(request.id)).toBeUndefined()
    }
  })

  it('ends by itself when its process is silent for the lease', async () => {
    const request = { ...sampleRequest(), leaseMs: 200 }
    const transaction = await begin(store, request)
    await new Promise((resolve) => transaction.tx.once('error', resolve))

    await expect(transaction.commit(sampleFinish())).rejects.toBeInstanceOf(Error)
    const next = await open({ store }, rivalOf(request))
    await next.rollback()
  })

  it('lives on while it is kept alive: its silence begins anew each time', async () => {
    const transaction = await begin(store, { ...sampleRequest(), leaseMs: 60_000 })
    const { rows } = await transaction.tx.query('select pg_backend_pid() as pid')
    const silentSince = async () => {
      const found = await pool.query(
        `select state_change::text as at from pg_stat_activity
          where pid = $1 and state = 'idle in transaction'`,
        [rows[0].pid],
      )
      return found.rows[0].at
    }
    const before = await silentSince()
    expect(await silentSince()).toBe(before)
    await transaction.keepAlive()
    expect((await silentSince()) > before).toBe(true)

    await transaction.commit(sampleFinish())
    expect(transaction.outcome).toBe('execute')
  })

  it('leaves the timeout of the connection as it was', async () => {
    const single = poolOf(database.url, { max: 1 })
    const onOne = postgresStore(single)
    await (await begin(onOne, { ...sampleRequest(), leaseMs: 5000 })).commit(sampleFinish())
    const { rows } = await single.query('show idle_in_transaction_session_timeout')
    await single.end()

    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '0' }])
  })

  it('refuses a duplicate when no connection is left', async () => {
    const single = poolOf(database.url, { max: 1 })
    const onOne = postgresStore(single)
    const request = sampleRequest()
    const transaction = await begin(onOne, request)
    const outcomes = await Promise.all([
      onOne.transactions?.begin(rivalOf(request)),
      onOne.transactions?.begin(impostorOf(request)),
    ])
    await transaction.rollback()
    await single.end()

    expect(outcomes.map((one) => one?.outcome)).toEqual(['in_progress', 'mismatch'])
  })

  it('is never opened after its twin has committed, however close the two are', async () => {
    const openedLate: string[] = []
    for (let round = 0; round < 150; round++) {
      const request = sampleRequest()
      const first = await begin(store, request)
      const twin = { isCommitted: false }
      const committed = first.commit(sampleFinish()).then(() => {
        twin.isCommitted = true
      })
      // Other stores do not know of the transaction but by the database.
      while (!twin.isCommitted) {
        const begun = await Promise.all(
          [1, 2, 3].map(async () => peer.transactions?.begin(rivalOf(request))),
        )
        for (const other of begun) {
          if (other === undefined || !('tx' in other)) continue
          openedLate.push(request.id)
          await other.rollback()
        }
      }
      await committed
    }

    expect(openedLate).toEqual([])
  })

  it('gives every connection back', async () => {
    const few = poolOf(database.url, { max: 2 })
    const onFew = postgresStore(few)
    const request = sampleRequest()
    await (await begin(onFew, request)).commit(sampleFinish())
    for (let round = 0; round < 5; round++) {
      await (await begin(onFew, sampleRequest())).rollback()
      await onFew.transactions?.begin(rivalOf(request))
      const failed = await begin(onFew, sampleRequest())
      await failed.tx.query('select 1 / 0').catch(() => {})
      await failed.commit(sampleFinish()).catch(() => {})
      await failed.rollback()
    }

    const connections = await Promise.all([few.connect(), few.connect()])
    for (const connection of connections) connection.release()
    expect(few.totalCount).toBeLessThanOrEqual(2)
    await few.end()
  })
})

describe('serializable transactions on different keys', () => {
  it('do not conflict with each other', async () => {
    const round = async () => {
      const opened = await Promise.all(
        Array.from({ length: 10 }, () =>
          begin(store, { ...sampleRequest(), isolation: 'serializable' }),
        ),
      )
      await Promise.all(opened.map(({ tx }) => tx.query(ADD)))
      await Promise.all(opened.map((transaction) => transaction.commit(sampleFinish())))
      return opened.length
    }

    expect([await round(), await round(), await round()]).toEqual([10, 10, 10])
  })
})
