/**
 * Transactions that something else opens, as an ORM does: here a source of our own on pg, which
 * behaves as badly as one may.
 */

import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postgresStore, type TransactionSource } from '../../src/stores/postgres/index.ts'
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

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url)
  await pool.query('create table effects (id integer generated always as identity)')
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function countEffects(): Promise<number> {
  return (await pool.query('select from effects')).rowCount ?? 0
}

/** Sends every statement late, and prepared, so that none can hold two. */
const late: TransactionSource<pg.PoolClient> = {
  async transaction(work, isolation = 'read committed') {
    const tx = await pool.connect()
    try {
      await tx.query(`begin isolation level ${isolation}`)
      await work(tx)
      await tx.query('commit')
    } catch (error) {
      await tx.query('rollback')
      throw error
    } finally {
      tx.release()
    }
  },
  async query(tx, text, values) {
    await setImmediate()
    const query = { text, values: [...values], queryMode: 'extended', rowMode: 'array' as const }
    return (await tx.query(query)).rows
  },
}

/** Opens a transaction of `source`, with an effect in it. */
async function openOn(source: TransactionSource<pg.PoolClient>) {
  const store = postgresStore(pool, { transactions: source })
  await store.ready()
  const request = sampleRequest()
  const transaction = await store.transactions?.begin(request)
  if (transaction === undefined || !('tx' in transaction)) throw new Error('It was refused.')
  await transaction.tx.query(ADD)
  return { store, request, transaction, before: await countEffects() }
}

describe('a source that sends late', () => {
  it('commits after the last statement, not before it', async () => {
    const { store, request, transaction, before } = await openOn(late)
    await transaction.commit(sampleFinish())

    expect(await countEffects()).toBe(before + 1)
    expect((await store.find(request.id))?.status).toBe('finished')
  })

  it('commits nothing when the last statement fails', async () => {
    const { store, request, transaction, before } = await openOn(late)
    await transaction.tx.query('select 1 / 0').catch(() => {})
    await expect(transaction.commit(sampleFinish())).rejects.toThrow('A statement of the store')

    expect(await countEffects()).toBe(before)
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('undoes a part that was joined, and only that, in order', async () => {
    const sent: (string | undefined)[] = []
    const unfair: TransactionSource<pg.PoolClient> = {
      ...late,
      async query(tx, text, values) {
        if (text.startsWith('savepoint')) await setImmediate()
        sent.push(/\w+/.exec(text)?.[0])
        return late.query(tx, text, values)
      },
    }
    const store = postgresStore(pool, { transactions: unfair })
    const before = await countEffects()
    await late.transaction(async (mine) => {
      await mine.query(ADD)
      const transaction = await open({ store }, { ...sampleRequest(), join: mine })
      await mine.query(ADD)
      await transaction.rollback()
    }, undefined)

    expect(await countEffects()).toBe(before + 1)
    expect(sent).toEqual(['savepoint', 'select', 'rollback', 'release'])
  })
})

describe('a source that runs the work again', () => {
  it('is told not to, and commits nothing', async () => {
    let runs = 0
    const retrying: TransactionSource<pg.PoolClient> = {
      ...late,
      transaction: (work, isolation) =>
        Promise.resolve(late.transaction(work, isolation)).catch(() => {
          runs++
          return late.transaction(work, isolation)
        }),
    }
    const { transaction, before } = await openOn(retrying)
    await transaction.tx.query('select 1 / 0').catch(() => {})
    await expect(transaction.commit(sampleFinish())).rejects.toThrow('A statement of the store')

    expect(runs).toBe(1)
    expect(await countEffects()).toBe(before)
  })
})

describe('a transaction that the handler ends', () => {
  it('takes no record, and sends nothing to a connection that is given back', async () => {
    let end = () => {}
    const ending: TransactionSource<pg.PoolClient> = {
      ...late,
      transaction: (work, isolation) =>
        late.transaction(
          (tx) => Promise.race([work(tx), new Promise<void>((resolve) => (end = resolve))]),
          isolation,
        ),
    }
    const { store, request, transaction } = await openOn(ending)
    const released = new Promise((resolve) => pool.once('release', resolve))
    end()
    await released
    await setImmediate()

    await expect(transaction.commit(sampleFinish())).rejects.toThrow('ended from within')
    await transaction.rollback()
    expect(await store.find(request.id)).toBeUndefined()
  })
})

describe('a store with transactions of something else', () => {
  it('begins them on no connection', async () => {
    const store = postgresStore(pool, { transactions: late })
    await store.ready()
    const connection = await pool.connect()
    const begun = store.transactions?.begin({ ...sampleRequest(), connection })
    await expect(begun).rejects.toMatchObject({ code: 'reprise-options-invalid' })
    connection.release()
  })

  it('migrates without them', async () => {
    const broken = { ...late, transaction: () => Promise.reject(new Error('Not for this.')) }
    const store = postgresStore(pool, { schema: 'other', transactions: broken })
    await store.ready()
    expect(await store.find(sampleRequest().id)).toBeUndefined()
  })

  it.each([
    ['retry', { code: '40001' }],
    ['retry', new Error('of Drizzle', { cause: { code: '40P01' } })],
    ['retry', Object.assign(new Error('of TypeORM'), { driverError: { code: '40001' } })],
    ['retry', { code: 'P2034' }],
    [
      'retry',
      { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '40001' } } } },
    ],
    ['lost', { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: 'RP001' } } } }],
    ['disconnected', { code: 'P1017' }],
    [
      'other',
      { code: 'P2010', meta: { driverAdapterError: { cause: { originalCode: '23505' } } } },
    ],
    ['other', null],
    ['other', 'a text'],
  ])('recognises %s however it is wrapped', (fault, error) => {
    const store = postgresStore(pool, { transactions: late })
    expect(store.transactions?.classify(error)).toBe(fault)
  })

  it('does not look for ever into an error that wraps itself', () => {
    const error: { cause?: unknown; meta?: unknown } = {}
    Object.assign(error, { cause: error, meta: error })
    const store = postgresStore(pool, { transactions: late })
    expect(store.transactions?.classify(error)).toBe('other')
  })
})

/** As plugins of query builders do it: every text that may be JSON is parsed. */
const parsing: TransactionSource<pg.PoolClient> = {
  ...late,
  async query(tx, text, values) {
    const rows = await late.query(tx, text, values)
    return rows.map((row) => Object.values(row).map(parsed))
  },
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^[[{]/.test(value)) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

it('tells duplicates what stands in the way where every JSON text in an answer is parsed', async () => {
  const store = postgresStore(pool, { transactions: parsing })
  const other = poolOf(database.url)
  const peer = postgresStore(other, { transactions: parsing })
  await store.ready()
  const request = sampleRequest()
  const transaction = await open({ store }, request)
  try {
    const running = await peer.transactions?.begin(rivalOf(request))
    expect(running).toMatchObject({ outcome: 'in_progress' })
    await transaction.commit(sampleFinish())
    const another = await peer.transactions?.begin(impostorOf(request))
    expect(another).toMatchObject({ outcome: 'mismatch' })
    const replay = await peer.transactions?.begin(rivalOf(request))
    expect(replay).toMatchObject({ outcome: 'replay' })
  } finally {
    await transaction.rollback()
    await other.end()
  }
})
