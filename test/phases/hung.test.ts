/**
 * Phases that hang beyond their time, as many as the pool has connections: every connection comes back,
 * although no phase ever answers, and the database ends what they had it do.
 */

import { PGlite } from '@electric-sql/pglite'
import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { createReprise, type Reprise } from '../../src/index.ts'
import { type OperationOptions, operation, phase, respond } from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { anything, request, seen } from './phases-world.ts'

const POOL_MAX = 3
const HANGS = 'select pg_sleep(600)'

/** A client library with a pool of three. */
interface Library<Tx> {
  readonly store: Store<Tx>
  query(tx: Tx, text: string): Promise<unknown>
  end(): Promise<unknown>
}

function viaPg(url: string, pipeline: boolean): Library<pg.PoolClient> {
  const pool = new pg.Pool({ connectionString: url, pipeline, max: POOL_MAX })
  pool.on('error', () => {})
  return {
    store: postgresStore(pool),
    query: (tx, text) => tx.query(text),
    end: () => pool.end(),
  }
}

function viaPostgresJs(url: string): Library<postgres.ReservedSql | postgres.TransactionSql> {
  const sql = postgres(url, { onnotice: () => {}, max: POOL_MAX })
  return {
    store: postgresStore(sql),
    query: async (tx, text) => tx.unsafe(text),
    end: () => sql.end({ timeout: 1 }),
  }
}

const LIBRARIES: readonly (readonly [string, (url: string) => Library<never>])[] = [
  // Each is used with its own handles only.
  ['pg', (url) => viaPg(url, false) as unknown as Library<never>],
  ['pg, pipelined', (url) => viaPg(url, true) as unknown as Library<never>],
  ['postgres.js', (url) => viaPostgresJs(url) as unknown as Library<never>],
]

/** Hangs in one of three ways, unless its input says that it works. */
function hanging<Tx>(
  reprise: OperationOptions<Tx, unknown>['reprise'],
  query: Library<Tx>['query'],
) {
  return operation(
    'hang',
    { reprise, input: anything },
    {
      started: phase(
        async ({ tx, input }: { tx: Tx; input: unknown }) => {
          await query(tx, 'insert into deeds (name) values (current_user)')
          if (input === 'in a statement') await query(tx, HANGS)
          if (input === 'beside a statement') void query(tx, HANGS).catch(() => {})
          if (input !== 'nowhere') await new Promise(() => {})
          return respond(201)
        },
        { timeoutMs: 300 },
      ),
    },
  )
}

describe.each(LIBRARIES)('phases on %s that hang', (_, open) => {
  let database: TemporaryDatabase
  let library: Library<unknown>
  let reprise: Reprise<unknown>
  let operator: pg.Client

  beforeAll(async () => {
    database = await temporaryDatabase()
    operator = new pg.Client({ connectionString: database.url })
    await operator.connect()
    await operator.query('create table deeds (name text not null)')
    library = open(database.url)
    reprise = createReprise({ store: library.store, storeTimeoutMs: 2000 })
    await library.store.ready()
  })

  afterAll(async () => {
    await operator.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and query = '${HANGS}'`,
    )
    await reprise.close()
    await library.end()
    await operator.end()
    await database.drop()
  })

  /** What the server still does for the phases. */
  const busy = async () => {
    const { rows } = await operator.query(
      `select state, query from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()
          and (state = 'active' or state like 'idle in%')`,
    )
    return rows
  }

  it.each(['in a statement', 'beside a statement', 'outside the database'])(
    '%s keep no connection, and nothing of theirs is committed',
    async (where) => {
      const op = hanging(reprise, (tx, text) => library.query(tx, text))
      await operator.query('delete from deeds')
      const keys = Array.from({ length: POOL_MAX }, (_, index) => `${where} ${index}`)
      const runs = keys.map((key) => op.run({ ...request(key), input: where }))
      const reason = { message: 'The phase started took more than 300 ms.' }
      for (const run of await Promise.allSettled(runs)) expect(run).toMatchObject({ reason })
      await expect.poll(busy, { timeout: 20_000 }).toEqual([])
      const works = await op.run({ ...request(`${where} works`), input: 'nowhere' })
      expect(seen(works)).toEqual(['executed', 201, ''])
      expect((await operator.query('select from deeds')).rowCount).toBe(1)
    },
    60_000,
  )
})

// It takes its time to start where others are at work.
describe('a phase on PGlite that hangs outside the database', { timeout: 180_000 }, () => {
  it('gives the one session back', async () => {
    const database = await PGlite.create()
    const reprise = createReprise({ store: postgresStore(database) })
    await database.query('create table deeds (name text not null)')
    const op = hanging(reprise, (tx, text) => tx.query(text))
    const hangs = op.run({ ...request('hangs'), input: 'outside the database' })
    await expect(hangs).rejects.toThrow('The phase started took more than 300 ms.')
    const works = await op.run({ ...request('works'), input: 'nowhere' })
    expect(seen(works)).toEqual(['executed', 201, ''])
    expect((await database.query('select from deeds')).rows).toHaveLength(1)
    await reprise.close()
    await database.close()
  })
})
