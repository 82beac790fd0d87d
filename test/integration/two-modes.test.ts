import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { CapturedResponse } from '../../src/core/response.ts'
import type { Store } from '../../src/engine/store.ts'
import type { TransactionOptions } from '../../src/engine/transaction-handler.ts'
import { createReprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

type Tx = pg.PoolClient

const CLAIMS: readonly TransactionOptions<Tx>[] = [
  { claim: 'first' },
  { claim: 'with-first-statement' },
]

let database: TemporaryDatabase
let pool: pg.Pool
let store: Store<Tx>
let keys = 0

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { pipeline: true })
  store = postgresStore(pool)
  await store.ready()
  await pool.query('create table effects (note text)')
  // Before its first transaction a store does not know the isolation, and holds no claim back.
  await node(60_000).runInTransaction(fresh(), async () => answer('warm'))
})

beforeEach(async () => {
  await pool.query('truncate effects')
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

function node(retentionMs: number) {
  return createReprise<Tx>({ store, retentionMs, leaseMs: retentionMs, replayCache: false })
}

function fresh() {
  return { caller: 'acct', operation: 'op', key: `key-${++keys}`, fingerprints: ['print'] }
}

function answer(text: string): CapturedResponse {
  return { status: 201, headers: [], body: new TextEncoder().encode(text) }
}

/** A request that runs in a transaction, and in lease mode while that is open. */
async function inBothModes(
  retentionMs: number,
  options: TransactionOptions<Tx>,
  meanwhile = async () => {},
) {
  const request = fresh()
  const reprise = node(retentionMs)
  return reprise.runInTransaction(
    request,
    async ({ tx }) => {
      await tx.query(`insert into effects values ('transaction')`)
      await node(retentionMs).run(request, async () => {
        await pool.query(`insert into effects values ('lease')`)
        return answer('lease')
      })
      await meanwhile()
      return answer('transaction')
    },
    options,
  )
}

/** Waits, by the clock of the database, until no record stands. */
async function untilExpired(): Promise<void> {
  await pool.query(
    'select pg_sleep_until(max(expires_at)) from reprise.records where caller = $1',
    ['acct'],
  )
  await store.sweep(1000)
}

async function notes(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ note: string }>('select note from effects')
  return rows.map(({ note }) => note)
}

describe.each(CLAIMS)('a transaction beside a request in lease mode, %o', (options) => {
  it('is undone, and answered with what the lease has stored', async () => {
    const result = await inBothModes(60_000, options)

    expect(result).toMatchObject({ outcome: 'replayed' })
    expect('response' in result && String(result.response.body)).toBe('lease')
    expect(await notes()).toEqual(['lease'])
  })

  it('is undone once it has outlasted what the lease has stored', async () => {
    await pool.query('truncate reprise.records')
    const outlasting = inBothModes(2000, options, untilExpired)

    await expect(outlasting).rejects.toMatchObject({
      code: 'idempotency-conflict',
      detail: expect.stringContaining('open for longer'),
    })
    expect(await notes()).toEqual(['lease'])
  })
})
