import type pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Isolation } from '../../src/engine/transactions.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

type Tx = pg.PoolClient

/**
 * Takes the row `p_mine`, and then `p_other`. Where the two are to meet, each first waits until the
 * other has its own row, so that one of them has to give way.
 */
const TABLES = `
  create table effects (id bigint generated always as identity, note text);
  create table accounts (id integer primary key, charges integer not null);
  create function charge(p_note text, p_mine integer, p_other integer, p_meet boolean)
    returns void language plpgsql as $$
  begin
    insert into effects (note) values (p_note);
    update accounts set charges = charges + 1 where id = p_mine;
    perform pg_advisory_xact_lock_shared(7, p_mine);
    while p_meet and 2 > (select count(*) from pg_locks l join pg_database d on d.oid = l.database
                           where l.classid = 7 and d.datname = current_database()) loop
      perform pg_sleep(0.01);
    end loop;
    update accounts set charges = charges + 1 where id = p_other;
  end $$`

let database: TemporaryDatabase
let pool: pg.Pool
let reprise: Reprise<Tx>
let faults: string[] = []
let keys = 0

beforeAll(async () => {
  database = await temporaryDatabase()
  pool = poolOf(database.url, { pipeline: true, max: 4 })
  await pool.query(TABLES)
  reprise = createReprise<Tx>({
    store: postgresStore(pool),
    replayCache: false,
    onEvent: ({ type, error }) => {
      if (type === 'transaction_retry') faults.push(String(Reflect.get(Object(error), 'code')))
    },
  })
  // What is prepared on a connection travels from then on.
  for (const isolation of ['read committed', 'repeatable read'] as const) {
    const warm = () => run('warm', { isolation })
    for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 4 }, warm))
  }
})

beforeEach(async () => {
  faults = []
  await pool.query('truncate effects, accounts')
  await pool.query('insert into accounts values (1, 0), (2, 0)')
})

afterAll(async () => {
  await pool.end()
  await database.drop()
})

/** Runs a request whose first statement is `text`; it is told in which run it is. */
function run(
  note: string,
  given: {
    readonly isolation: Isolation
    readonly text?: string
    readonly values?: (attempt: number) => readonly unknown[]
  },
) {
  const { isolation, text = 'select $1::text', values = () => [note] } = given
  let attempts = 0
  const request = { caller: 'acct', operation: 'op', key: `key-${++keys}`, fingerprints: ['print'] }
  return reprise.runInTransaction(
    request,
    async ({ tx }) => {
      await tx.query(text, [...values(++attempts)])
      return { status: 201, headers: [], body: new TextEncoder().encode(note) }
    },
    { claim: 'with-first-statement', isolation },
  )
}

async function charges(): Promise<readonly number[]> {
  const { rows } = await pool.query<{ charges: number }>('select charges from accounts order by id')
  return rows.map((row) => row.charges)
}

async function notes(): Promise<readonly string[]> {
  const { rows } = await pool.query<{ note: string }>('select note from effects order by note')
  return rows.map((row) => row.note)
}

describe('a fresh request whose first statement, with the claim in it, fails', () => {
  it('is run again after a deadlock with that of another key, with one effect each', async () => {
    const charge = (note: string, rows: readonly [number, number]) =>
      run(note, {
        isolation: 'read committed',
        text: 'select charge($1, $2, $3, $4)',
        values: (attempt) => [note, ...rows, attempt === 1],
      })
    const ended = await Promise.all([charge('one', [1, 2]), charge('other', [2, 1])])

    expect(ended.map(({ outcome }) => outcome)).toEqual(['executed', 'executed'])
    expect(faults).toEqual(['40P01'])
    expect(await notes()).toEqual(['one', 'other'])
    expect(await charges()).toEqual([2, 2])
  })

  it('is run again after a serialization failure, with one effect', async () => {
    const other = await pool.connect()
    await other.query('begin; update accounts set charges = 10 where id = 1')
    const ended = run('one', {
      isolation: 'repeatable read',
      text: 'select charge($1, $2, $3, false)',
      values: () => ['one', 1, 2],
    })
    const isWaiting = async () => {
      const { rowCount } = await pool.query(
        `select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      )
      return rowCount === 1
    }
    while (!(await isWaiting())) await new Promise((resolve) => setImmediate(resolve))
    await other.query('commit')
    other.release()

    expect((await ended).outcome).toBe('executed')
    expect(faults).toEqual(['40001'])
    expect(await notes()).toEqual(['one'])
    expect(await charges()).toEqual([11, 1])
  })
})
