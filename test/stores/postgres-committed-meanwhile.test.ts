/**
 * A request looks for its record and finds none, the record is committed, and the locks of its key are
 * held by a replay that has not ended yet. The database stops the request between the look and the lock:
 * its own `pg_try_advisory_xact_lock` stands before PostgreSQL's on the search path.
 */

import type pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createReprise, type Reprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { Gate } from '../../src/testing/adapter/world.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { REQUEST, response } from '../engine/world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

/** The advisory lock that stops a request: nobody else has one of two numbers. */
const STOP = '1, 1'

/** Stops at the try of a transaction whose number the session says. */
const STOPPING = `
  create schema stopping;
  create function stopping.pg_try_advisory_xact_lock(key bigint) returns boolean
  language plpgsql as $$
  declare
    tries integer := coalesce(nullif(current_setting('stopping.tries', true), ''), '0')::integer + 1;
  begin
    perform set_config('stopping.tries', tries::text, true);
    if tries = current_setting('stopping.at')::integer then
      perform pg_advisory_xact_lock_shared(${STOP});
    end if;
    return pg_catalog.pg_try_advisory_xact_lock(key);
  end
  $$`

let database: TemporaryDatabase
let free: pg.Pool
let stopped: pg.Pool
let first: Reprise<pg.PoolClient>
let second: Reprise<pg.PoolClient>
let keys = 0
const sessions: pg.PoolClient[] = []

beforeAll(async () => {
  database = await temporaryDatabase()
  free = poolOf(database.url, { max: 6 })
  await free.query(STOPPING)
  // The first try is followed by another look.
  stopped = poolOf(database.url, { max: 3, options: stoppingAt(2), pipeline: true })
  const engine = (pool: pg.Pool) =>
    createReprise({ store: postgresStore(pool, { listen: false }), replayCache: false })
  first = engine(free)
  second = engine(stopped)
  await send(first, 'warm-up', {})
  await send(second, 'warm-up too', {})
})

afterEach(() => {
  for (const session of sessions.splice(0)) session.release(true)
})

afterAll(async () => {
  await Promise.all([first.close(), second.close()])
  await Promise.all([free.end(), stopped.end()])
  await database.drop()
})

/** The settings of sessions that stop at a try of the locks. */
function stoppingAt(tries: number): string {
  return `-c search_path=stopping,pg_catalog,public -c stopping.at=${tries}`
}

type Options = Parameters<Reprise<pg.PoolClient>['runInTransaction']>[2]

function send(
  reprise: Reprise<pg.PoolClient>,
  key: string,
  options: Options,
  work: () => Promise<unknown> = async () => {},
) {
  return reprise.runInTransaction(
    { ...REQUEST, key },
    async ({ tx }) => {
      await tx.query('select $1::text', [key])
      await work()
      return response()
    },
    options,
  )
}

async function session(): Promise<pg.PoolClient> {
  const one = await free.connect()
  sessions.push(one)
  return one
}

async function advisoryLocks(which: string): Promise<readonly string[]> {
  const { rows } = await free.query<{ key: string }>(
    `select ((classid::bigint << 32) | objid::bigint)::text as key from pg_locks
      where locktype = 'advisory' and ${which}
        and database = (select oid from pg_database where datname = current_database())`,
  )
  return rows.map(({ key }) => key)
}

/** Has a request finish its key between the look and the lock of the one that `ask` sends. */
async function finishMeanwhile<T>(key: string, ask: () => Promise<T>): Promise<T> {
  const work = new Gate()
  const running = new Gate()
  const finished = send(first, key, {}, async () => {
    running.open()
    await work.opened
  })
  await running.opened
  const locks = await advisoryLocks('objsubid = 1')
  const stop = await session()
  await stop.query(`select pg_advisory_lock(${STOP})`)
  const asked = ask()
  await expect.poll(() => advisoryLocks('not granted')).toHaveLength(1)
  work.open()
  expect((await finished).outcome).toBe('executed')
  // A replay that has found the record holds the key until it is rolled back.
  const replay = await session()
  await replay.query('begin')
  for (const lock of locks) await replay.query('select pg_advisory_xact_lock($1)', [lock])
  await stop.query(`select pg_advisory_unlock(${STOP})`)
  return await asked
}

const ISOLATIONS = ['read committed', 'repeatable read', 'serializable'] as const

describe.each(ISOLATIONS)('in a transaction that is %s', (isolation) => {
  it.each(['first', 'with-first-statement'] as const)(
    'a request is answered whose record is committed before its key is locked, with the claim %s',
    async (claim) => {
      const key = `key-${++keys}`
      const answer = await finishMeanwhile(key, () => send(second, key, { claim, isolation }))
      expect(answer.outcome).toBe('replayed')
    },
  )

  it('a request on a connection of its own is answered likewise', async () => {
    const key = `key-${++keys}`
    const connection = await stopped.connect()
    const answer = await finishMeanwhile(key, () => send(second, key, { connection, isolation }))
    connection.release()
    expect(answer.outcome).toBe('replayed')
  })
})

it('a request that found its key taken before is answered when the record is committed meanwhile', async () => {
  const key = `key-${++keys}`
  const work = new Gate()
  const running = new Gate()
  const undone = send(first, key, {}, async () => {
    running.open()
    await work.opened
    throw new Error('undone')
  })
  await running.opened
  expect((await send(second, key, {})).outcome).toBe('in_progress')
  work.open()
  await expect(undone).rejects.toThrow('undone')
  const answer = await finishMeanwhile(key, () => send(second, key, {}))
  expect(answer.outcome).toBe('replayed')
})

it('a request within a quota is answered when the record is committed meanwhile', async () => {
  const key = `key-${++keys}`
  const quota = { keys: 1000, perMs: 60_000 }
  const pool = poolOf(database.url, { max: 3, options: stoppingAt(1) })
  const store = postgresStore(pool, { listen: false })
  const engine = createReprise({ store, replayCache: false, quota })
  const answer = await finishMeanwhile(key, () => send(engine, key, {}))
  await engine.close()
  await pool.end()
  expect(answer.outcome).toBe('replayed')
})
