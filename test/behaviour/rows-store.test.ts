import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../scripts/servers/guarded.ts'
import { query } from '../../scripts/servers/postgres.ts'
import { idempotent, txOf } from '../../src/adapters/express.ts'
import type { HttpOptions } from '../../src/adapters/options.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { type ChargesOptions, caller, type Request, serveCharges } from './api.ts'

const LEASE_MS = 1000

let database: TemporaryDatabase
beforeAll(async () => {
  database = await temporaryDatabase()
  await query(database.url, 'create table effects (key text)')
})
afterAll(() => database.drop())

function poolOf(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 4 })
  // Told by the queries that fail; without a listener it would end the process as well.
  pool.on('error', () => {})
  onTestFinished(async () => {
    if (!pool.ended) await pool.end()
  })
  return pool
}

/** The API with its records in PostgreSQL. */
function serveOn(
  pool: pg.Pool,
  {
    handle,
    ...route
  }: Partial<HttpOptions<Request, pg.PoolClient>> & Pick<ChargesOptions, 'handle'> = {},
) {
  const store = postgresStore(pool)
  const reprise = createReprise({ store, leaseMs: LEASE_MS })
  // Before the pool is ended, which waits for the connection that the store listens on.
  onTestFinished(() => store.close())
  const protect = idempotent(reprise, { caller, ...route })
  return serveCharges({ protect, ...(handle === undefined ? {} : { handle }) })
}

describe('a store that can not be reached', () => {
  const nowhere = async () => `postgres://nobody@127.0.0.1:${await freePort()}/none`

  it('row 34: has keyed requests refused with 503 and Retry-After; the handler does not run', async () => {
    const charges = await serveOn(poolOf(await nowhere()))
    const refused = await charges.send({ key: 'k' })
    expect([refused.status, refused.json]).toMatchObject([
      503,
      { code: 'idempotency-store-unavailable', retryable: true },
    ])
    expect(refused.header('Retry-After')).toMatch(/^[1-9]\d*$/)
    expect(charges.runs()).toBe(0)
    expect((await charges.send({})).status).toBe(201)
  })

  it('row 34: lets requests through where the route fails open, and the answer says so', async () => {
    const charges = await serveOn(poolOf(await nowhere()), { failOpen: true })
    const answer = await charges.send({ key: 'k' })
    expect([answer.status, answer.json]).toEqual([201, { id: 'ch_1' }])
    expect(answer.header('Idempotency-Degraded')).toBe('true')
    expect(answer.header('Idempotency-Key')).toBe('k')
  })

  it('row 34: counts as down when it hangs for too long', async () => {
    const silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    // A server that listens on a port has such an address.
    const { port } = silent.address() as AddressInfo
    const pool = new pg.Pool({ host: '127.0.0.1', port, max: 2, connectionTimeoutMillis: 2000 })
    onTestFinished(() => void silent.close())
    const charges = await serveOn(pool, { storeTimeoutMs: 100 })
    const refused = await charges.send({ key: 'k' })
    expect([refused.status, charges.runs()]).toEqual([503, 0])
  })
})

describe('a store that fails when the answer is to be stored', () => {
  it('row 35: does not turn a success into an error; the record stays claimed, then unknown', async () => {
    const pool = poolOf(database.url)
    const charges = await serveOn(pool, {
      async handle(_, response) {
        await pool.end()
        response.status(201).json('charged')
      },
    })
    const answer = await charges.send({ key: 'r35' })
    expect([answer.status, answer.json]).toEqual([201, 'charged'])
    expect(answer.header('Idempotency-Stored')).toBe('false')
    expect(answer.header('Idempotency-Expires')).toBeUndefined()

    const other = await serveOn(poolOf(database.url))
    const retry = await other.send({ key: 'r35', headers: [['Prefer', 'wait=10']] })
    expect([retry.status, retry.json]).toMatchObject([409, { code: 'idempotency-outcome-unknown' }])
    expect(other.runs()).toBe(0)
  })

  it('row 35: gets the answer as soon as it is back', async () => {
    const charges = await serveOn(poolOf(database.url), {
      leaseMs: 20_000,
      async handle(_, response) {
        await query(database.url, 'alter table reprise.records rename to gone')
        response.status(201).json('charged')
      },
    })
    expect((await charges.send({ key: 'r35-back' })).header('Idempotency-Stored')).toBe('false')
    await query(database.url, 'alter table reprise.gone rename to records')

    const other = await serveOn(poolOf(database.url))
    const retry = await other.send({ key: 'r35-back', headers: [['Prefer', 'wait=10']] })
    expect([retry.json, retry.header('Idempotent-Replayed')]).toEqual(['charged', 'true'])
  })
})

describe('where the database has replicas', () => {
  it.each(['lease', 'transaction'] as const)(
    'row 43: everything goes over the connection that the store was given (%s mode)',
    async (mode) => {
      const pool = poolOf(`${database.url}?application_name=given`)
      const charges = await serveOn(pool, {
        transaction: mode === 'transaction',
        async handle(request, response) {
          if (mode === 'transaction') await txOf<pg.PoolClient>(request).query('select 1')
          const { rows } = await query(
            database.url,
            `select distinct application_name from pg_stat_activity
             where datname = current_database() and pid <> pg_backend_pid()`,
          )
          response.json(rows.map(({ application_name }) => application_name))
        },
      })
      const key = `r43-${mode}`
      expect((await charges.send({ key })).json).toEqual(['given'])
      expect((await charges.send({ key })).header('Idempotent-Replayed')).toBe('true')
      expect(charges.runs()).toBe(1)
    },
  )

  it('row 43: a store on a read-only one starts nothing', async () => {
    const readOnly = () => poolOf(`${database.url}?options=-c%20default_transaction_read_only%3Don`)
    await (await serveOn(poolOf(database.url))).send({ key: 'r43-known' })
    const charges = await serveOn(readOnly())
    expect((await charges.send({ key: 'r43-new' })).status).toBe(503)
    // What is finished is final, so an old copy of it is as good as any.
    expect((await charges.send({ key: 'r43-known' })).json).toEqual({ id: 'ch_1' })
    expect(charges.runs()).toBe(0)

    const transacting = await serveOn(readOnly(), { transaction: true })
    const undone = await transacting.send({ key: 'r43-undone' })
    expect(undone.status).toBeGreaterThanOrEqual(500)
    const { rows } = await query(
      database.url,
      `select from reprise.records where key in ('r43-new', 'r43-undone')`,
    )
    expect(rows).toEqual([])
  })
})
