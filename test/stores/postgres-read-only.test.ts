import pg from 'pg'
import postgres from 'postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createReprise, type Store } from '../../src/index.ts'
import { operation, phase } from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { REQUEST, response } from '../engine/world.ts'
import { anything, request } from '../phases/phases-world.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let admin: pg.Pool

/** What a request is told that comes to a database that takes no writes, whatever the mode. */
const READ_ONLY = {
  code: 'idempotency-store-unavailable',
  detail: expect.stringMatching(/read-only/),
}

beforeAll(async () => {
  database = await temporaryDatabase()
  admin = poolOf(database.url)
  await postgresStore(admin).ready()
})

afterAll(async () => {
  await admin.end()
  await database.drop()
})

function readOnlyUrl(): string {
  const url = new URL(database.url)
  url.searchParams.set('options', '-c default_transaction_read_only=on')
  return url.href
}

async function withPool<T>(
  settings: pg.PoolConfig,
  use: (store: Store<pg.PoolClient>) => Promise<T>,
): Promise<T> {
  const pool = new pg.Pool({ connectionString: readOnlyUrl(), ...settings })
  try {
    return await use(postgresStore(pool, { migrate: false }))
  } finally {
    await pool.end()
  }
}

describe('a database that is read-only', () => {
  it.each([
    ['first', true],
    ['first', false],
    ['with-first-statement', true],
    ['with-first-statement', false],
  ] as const)('refuses a transaction (claim %s, pipeline %s)', async (claim, pipeline) => {
    await withPool({ pipeline }, async (store) => {
      const reprise = createReprise({ store })
      let runs = 0
      const send = (key: string) =>
        reprise
          .runInTransaction(
            { ...REQUEST, key },
            async ({ tx }) => {
              runs++
              await tx.query('select 1')
              return response()
            },
            { claim, isolation: 'read committed' },
          )
          .catch((error: unknown) => error)

      // Twice: the first prepares the statements that travel together.
      expect(await send('one')).toMatchObject(READ_ONLY)
      expect(await send('two')).toMatchObject(READ_ONLY)
      if (claim === 'first') expect(runs).toBe(0)
      expect((await admin.query('select from reprise.records')).rowCount).toBe(0)
    })
  })

  it('refuses a transaction of postgres.js', async () => {
    const sql = postgres(database.url, { connection: { default_transaction_read_only: true } })
    const reprise = createReprise({ store: postgresStore(sql, { migrate: false }) })
    const sent = reprise.runInTransaction(REQUEST, async () => expect.unreachable('It runs.'))
    await expect(sent).rejects.toMatchObject(READ_ONLY)
    await sql.end()
  })

  it('refuses a claim with a lease', async () => {
    await withPool({}, async (store) => {
      const sent = createReprise({ store }).run(REQUEST, async () => expect.unreachable('It runs.'))
      await expect(sent).rejects.toMatchObject(READ_ONLY)
    })
  })

  it('refuses an operation in phases', async () => {
    await withPool({}, async (store) => {
      const ride = operation(
        'ride',
        { reprise: createReprise({ store }), input: anything },
        { started: phase(async () => expect.unreachable('It runs.')) },
      )
      await expect(ride.run(request('k'))).rejects.toMatchObject(READ_ONLY)
    })
  })

  it('replays what is finished', async () => {
    const finished = { ...REQUEST, key: 'finished' }
    const writing = createReprise({ store: postgresStore(admin) })
    await writing.runInTransaction(finished, async () => response())
    await withPool({ pipeline: true }, async (store) => {
      for (const claim of ['first', 'with-first-statement'] as const) {
        const reprise = createReprise({ store, replayCache: false })
        const again = await reprise.runInTransaction(
          finished,
          async ({ tx }) => {
            await tx.query('select $1::text', ['read'])
            return response()
          },
          { claim, isolation: 'read committed' },
        )
        expect(again.outcome).toBe('replayed')
      }
    })
    await admin.query('delete from reprise.records')
  })
})
