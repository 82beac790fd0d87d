import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import type { OpenTransaction, TransactionRequest } from '../../src/engine/transactions.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sampleFinish, sampleRequest } from '../../src/testing/contract/sample.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let pool: pg.Pool
let store: Store<pg.PoolClient>
const notices: unknown[] = []

beforeAll(async () => {
  database = await temporaryDatabase()
  // One connection, so that whoever comes next has what the last one left behind.
  pool = poolOf(database.url, { max: 1, pipeline: true })
  pool.on('connect', (client) => client.on('notice', (notice) => notices.push(notice.message)))
  store = postgresStore(pool)
  await store.ready()
  await pool.query(`create table notes (
    text text, constraint once unique (text) deferrable initially deferred)`)
  // Once all of it is prepared on the connection, it flies.
  const first = await begin(sampleRequest())
  await first.commit(sampleFinish())
})

beforeEach(() => {
  notices.length = 0
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

async function begin(
  request: TransactionRequest<pg.PoolClient>,
): Promise<OpenTransaction<pg.PoolClient>> {
  const begun = await store.transactions?.begin(request)
  if (begun === undefined || !('tx' in begun)) throw new Error(`Refused: ${begun?.outcome}`)
  return begun
}

/** What the next one finds: no transaction, and nothing of the last one's. */
async function expectClean(): Promise<void> {
  const { rows } = await pool.query(`
    select (select count(*)::integer from notes) as notes,
           now() = statement_timestamp() as alone,
           (select count(*)::integer from pg_locks
             where locktype = 'advisory' and pid = pg_backend_pid()) as locks`)
  expect(rows).toEqual([{ notes: 0, alone: true, locks: 0 }])
  expect(notices).toEqual([])
}

describe('a commit that flies', () => {
  it('is undone where the record is stored already', async () => {
    const request = sampleRequest()
    const transaction = await begin(request)
    await transaction.tx.query(`insert into notes values ('lost')`)
    const other = poolOf(database.url)
    const peer = postgresStore(other)
    await peer.claim(request)
    await other.end()

    const error = await transaction.commit(sampleFinish()).catch((thrown: unknown) => thrown)

    expect(store.transactions?.classify(error)).toBe('lost')
    await expectClean()
  })

  it('is undone where a statement of the handler had failed', async () => {
    const transaction = await begin(sampleRequest())
    await transaction.tx.query(`insert into notes values ('gone')`)
    await transaction.tx.query('select from nowhere').catch(() => {})

    await expect(transaction.commit(sampleFinish())).rejects.toMatchObject({ code: '25P02' })

    await expectClean()
  })

  it('is over, and not undone again, where the commit itself fails', async () => {
    const request = sampleRequest()
    const transaction = await begin(request)
    await transaction.tx.query(`insert into notes values ('twice'), ('twice')`)

    await expect(transaction.commit(sampleFinish())).rejects.toMatchObject({ code: '23505' })

    await expectClean()
    expect(await store.find(request.id)).toBeUndefined()
  })

  it('is refused where the handler has ended the transaction itself', async () => {
    const request = sampleRequest()
    const transaction = await begin(request)
    await transaction.tx.query('rollback')

    await expect(transaction.commit(sampleFinish())).rejects.toThrow(/ended the transaction/)

    expect(await store.find(request.id)).toBeUndefined()
  })
})

describe('a begin that flies', () => {
  it('leaves no transaction open where the claim fails', async () => {
    const request = sampleRequest()
    const fault = begin({ ...request, leaseMs: Number.NaN })
    await expect(fault).rejects.toMatchObject({ code: 'idempotency-store-unavailable' })

    await expectClean()
    const transaction = await begin(request)
    await transaction.rollback()
  })
})
