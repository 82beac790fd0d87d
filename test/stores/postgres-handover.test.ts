import pg from 'pg'
import postgres from 'postgres'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { createReprise } from '../../src/index.ts'
import { migratePostgres, postgresStore } from '../../src/stores/postgres/index.ts'
import { sampleRequest } from '../../src/testing/contract/sample.ts'
import { open } from '../../src/testing/contract/transaction.ts'
import { poolOf } from '../conformance/postgres.harness.ts'
import { REQUEST } from '../engine/world.ts'
import { countDeaths, type Deaths } from '../hostile/wires/deaths.ts'
import { openWireProxy, type WireProxy } from '../hostile/wires/proxy.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

let database: TemporaryDatabase
let admin: pg.Pool
let proxy: WireProxy
let deaths: Deaths
/** Whether PostgreSQL ends each new connection in the moment in which it is ready. */
let isEnding = true

beforeAll(async () => {
  database = await temporaryDatabase()
  admin = poolOf(database.url)
  await postgresStore(admin).ready()
  await admin.query('create table effects (id integer generated always as identity)')
})

beforeEach(async () => {
  const { hostname, port } = new URL(database.url)
  isEnding = true
  const ended = new Set<number>()
  proxy = await openWireProxy({
    ...{ protocol: 'postgres', host: hostname, port: Number(port || 5432) },
    decide({ connection, from, type }) {
      const isReady = from === 'server' && type === 'Z'
      if (!isEnding || !isReady || ended.has(connection)) return { do: 'pass' }
      ended.add(connection)
      return { do: 'terminate' }
    },
    terminate: (pid) => admin.query('select pg_terminate_backend($1, 5000)', [pid]),
  })
  deaths = countDeaths()
})

afterEach(async () => {
  // Errors that nobody caught are raised in turns of their own.
  await new Promise((resolve) => setTimeout(resolve, 10))
  deaths.restore()
  await proxy.close()
})

afterAll(async () => {
  await admin.end()
  await database.drop()
})

function through(): string {
  const url = new URL(database.url)
  url.host = `127.0.0.1:${proxy.port}`
  return url.href
}

interface Subject {
  readonly store: Store<unknown>
  migrate(): Promise<void>
  end(): Promise<void>
}

function overPg(settings: pg.PoolConfig): Subject {
  const pool = new pg.Pool({ connectionString: through(), max: 3, ...settings })
  return {
    store: postgresStore(pool, { migrate: false }),
    migrate: () => migratePostgres(pool, { schema: 'other' }),
    end: () => pool.end(),
  }
}

function overPostgresJs(): Subject {
  // Its own first statement on a connection rejects without anybody to hear it.
  const sql = postgres(through(), { max: 3, fetch_types: false })
  return {
    store: postgresStore(sql, { migrate: false }),
    migrate: () => migratePostgres(sql, { schema: 'other' }),
    end: () => sql.end({ timeout: 0.1 }),
  }
}

const LIBRARIES: readonly [string, () => Subject][] = [
  ['pg', () => overPg({})],
  ['pg, pipelined', () => overPg({ pipeline: true })],
  ['postgres.js', overPostgresJs],
]

/** What the store does with a connection that it has just been given. */
const USES: readonly [string, (subject: Subject) => Promise<unknown>][] = [
  ['a transaction', ({ store }) => open({ store }, sampleRequest())],
  ['a claim', ({ store }) => store.claim(sampleRequest())],
  ['the check of the schema', ({ store }) => store.ready()],
  ['a look of an operator', ({ store }) => store.find(sampleRequest().id)],
  ['a worker', async ({ store }) => store.work?.letters.list({ limit: 1 })],
  ['a migration', (subject) => subject.migrate()],
]

describe.each(LIBRARIES)('a new connection of %s that PostgreSQL ends at once', (_, make) => {
  it.each(USES)('makes the store unavailable to %s, and the process lives', async (_use, use) => {
    const subject = make()
    const error = await use(subject).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    // The error of a lost connection is told before its wires are closed.
    await subject.end()

    expect(deaths.errors).toEqual([])
    expect(error).toMatchObject({ code: 'idempotency-store-unavailable' })
  })

  it('leaves waiting requests to ask again, and the next connection listens', async () => {
    const { store, end } = make()
    const unwatch = await store.watch?.('f'.repeat(64), () => {})
    unwatch?.()
    isEnding = false
    const found = await store.find(sampleRequest().id).catch(() => store.find(sampleRequest().id))
    await store.close()
    await end()

    expect(deaths.errors).toEqual([])
    expect(found).toBeUndefined()
  })
})

it.each(['first', 'with-first-statement'] as const)(
  'a request whose claim is %s is told that the store is unavailable, and runs when it is there again',
  async (claim) => {
    const pool = new pg.Pool({ connectionString: through(), max: 1, pipeline: true })
    const store = postgresStore(pool, { migrate: false })
    isEnding = false
    await store.ready()
    // The first transaction tells the store how the database isolates.
    const warm = await open({ store }, sampleRequest())
    await warm.rollback()
    await admin.query(
      `select pg_terminate_backend(pid, 5000) from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid()`,
    )
    isEnding = true
    const reprise = createReprise({ store })
    let runs = 0
    const send = () =>
      reprise
        .runInTransaction(
          { ...REQUEST, key: claim },
          async ({ tx }) => {
            runs++
            await tx.query('insert into effects default values')
            return { status: 201, headers: [], body: new Uint8Array() }
          },
          { claim },
        )
        .then(
          ({ outcome }) => outcome,
          (error: unknown) => error,
        )
    const refused = await send()
    isEnding = false
    const again = await send()
    await pool.end()

    expect(deaths.errors).toEqual([])
    expect(refused).toMatchObject({ code: 'idempotency-store-unavailable' })
    expect(again).toBe('executed')
    expect(runs).toBeLessThanOrEqual(2)
  },
)
