import type pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import type { OpenTransaction, TransactionRequest } from '../../src/engine/transactions.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { rivalOf, sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

type Tx = pg.PoolClient

/** How many connections the pool has; each of them is made stale. */
const CONNECTIONS = 3

const ADD = { name: 'add', text: 'insert into effects (note) values ($1)', values: ['x'] }

let database: TemporaryDatabase
let aside: pg.Pool

beforeAll(async () => {
  database = await temporaryDatabase()
  aside = poolOf(database.url)
  await postgresStore(aside).ready()
  await aside.query('create table effects (id bigint generated always as identity, note text)')
})

afterAll(async () => {
  await aside.end()
  await database.drop()
})

beforeEach(async () => {
  await aside.query('truncate effects')
})

describe.each([true, false])('on a pool with pipeline: %s', (pipeline) => {
  let pool: pg.Pool
  let store: Store<Tx>

  beforeEach(async () => {
    pool = poolOf(database.url, { pipeline, max: CONNECTIONS })
    store = postgresStore(pool)
    await store.ready()
    // Twice: the first use of a connection prepares what the second one relies on.
    for (let round = 0; round < 2; round++) {
      await onAll(async () => {
        await commitOne(sampleRequest())
        await commitOne(held())
        await finishOne()
      })
    }
    await aside.query('truncate effects')
  })

  afterEach(() => pool.end())

  /** Runs `work` on as many connections as there are, at the same time. */
  async function onAll<T>(work: () => Promise<T>): Promise<readonly T[]> {
    return Promise.all(Array.from({ length: CONNECTIONS }, work))
  }

  /** Executes `text` on every connection of the pool, as code of the app may do. */
  async function everywhere(text: string): Promise<void> {
    const connections = await onAll(() => pool.connect())
    for (const connection of connections) await connection.query(text)
    for (const connection of connections) connection.release()
  }

  async function begin(request: TransactionRequest<Tx>): Promise<OpenTransaction<Tx>> {
    const begun = await store.transactions?.begin(request)
    if (begun === undefined || !('tx' in begun)) throw new Error(`Refused: ${begun?.outcome}`)
    return begun
  }

  function held(): TransactionRequest<Tx> {
    return { ...sampleRequest(), claim: 'with-first-statement' }
  }

  async function commitOne(request: TransactionRequest<Tx>): Promise<void> {
    const transaction = await begin(request)
    await transaction.tx.query(ADD)
    await transaction.commit(sampleFinish())
  }

  async function finishOne(): Promise<void> {
    const request = sampleRequest()
    const claimed = await store.claim(request)
    if (!('claim' in claimed)) throw new Error(`Refused: ${claimed.outcome}`)
    expect(await store.finish(claimed.claim, sampleFinish())).toBe(true)
    expect(await store.claim(rivalOf(request))).toMatchObject({ outcome: 'replay' })
  }

  async function countEffects(): Promise<number> {
    return (await aside.query('select from effects')).rowCount ?? 0
  }

  describe.each(['discard all', 'deallocate all'])('after %s on each connection', (text) => {
    it('a transaction begins as if nothing had happened', async () => {
      await everywhere(text)
      await onAll(() => commitOne(sampleRequest()))

      expect(await countEffects()).toBe(CONNECTIONS)
    })

    it('a transaction whose claim goes with its first statement begins likewise', async () => {
      await everywhere(text)
      await onAll(() => commitOne(held()))

      expect(await countEffects()).toBe(CONNECTIONS)
    })

    it('a transaction whose claim goes with an unprepared first statement begins likewise', async () => {
      await everywhere(text)
      await onAll(async () => {
        const transaction = await begin(held())
        await transaction.tx.query('insert into effects (note) values ($1)', ['y'])
        await transaction.commit(sampleFinish())
      })

      expect(await countEffects()).toBe(CONNECTIONS)
    })

    it('a lease is claimed and finished as if nothing had happened', async () => {
      await everywhere(text)
      await onAll(finishOne)
    })
  })

  it('a handler that deallocates everything fails alone; the next request on its connection works', async () => {
    const opened = await onAll(() => begin(sampleRequest()))
    for (const { tx } of opened) await tx.query('deallocate all')
    await Promise.allSettled(opened.map((transaction) => transaction.commit(sampleFinish())))
    await onAll(() => commitOne(sampleRequest()))
    await onAll(() => commitOne(held()))

    expect(await countEffects()).toBe(2 * CONNECTIONS)
  })

  it('a connection that was left with a role that may do nothing here is not used again', async () => {
    await everywhere('set role pg_read_all_stats')
    const begun = await Promise.allSettled(
      Array.from({ length: CONNECTIONS }, () => begin(sampleRequest())),
    )
    expect(begun.map(({ status }) => status)).not.toContain('fulfilled')
    await onAll(() => commitOne(sampleRequest()))

    expect(await countEffects()).toBe(CONNECTIONS)
  })
})

it('a statement whose cached plan has another result by now is prepared again', async () => {
  const pool = poolOf(database.url, { pipeline: true, max: 1 })
  const store = postgresStore(pool)
  const commitOne = async (claim: TransactionRequest<Tx>['claim']) => {
    const begun = await store.transactions?.begin({ ...sampleRequest(), claim })
    if (begun === undefined || !('tx' in begun)) throw new Error('Refused')
    await begun.tx.query(ADD)
    await begun.commit(sampleFinish())
  }
  try {
    for (const claim of [undefined, 'with-first-statement'] as const) {
      for (let round = 0; round < 2; round++) await commitOne(claim)
      const connection = await pool.connect()
      await connection.query('create table shape (a integer)')
      await connection.query('deallocate reprise_begin')
      await connection.query('prepare reprise_begin as select * from shape')
      await connection.query('alter table shape add b integer')
      const executed = connection.query('execute reprise_begin')
      await expect(executed).rejects.toMatchObject({ code: '0A000' })
      connection.release()
      await commitOne(claim)
      await pool.query('drop table shape')
    }
  } finally {
    await pool.end()
  }

  expect((await aside.query('select from effects')).rowCount).toBe(6)
})
