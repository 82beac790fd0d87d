/**
 * The app under test: a store behind a proxy, an engine, and a handler that leaves two rows.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import pg from 'pg'
import postgres from 'postgres'
import { createClient } from 'redis'
import { idempotent, serve, txOf } from '../../../src/adapters/fetch.ts'
import type { Store } from '../../../src/engine/store.ts'
import { createReprise, type Reprise } from '../../../src/index.ts'
import { advance, operation, phase, respond, type Schema } from '../../../src/phases/index.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import type { Library, Program } from './program.ts'
import type { World } from './world.ts'

/** Executes a statement of a handler. */
type Execute = (tx: unknown, text: string, values: string[]) => PromiseLike<unknown>

/** A store, with what a handler does on its transactions. */
interface Stored {
  readonly store: Store<unknown>
  readonly execute: Execute
  end(): Promise<unknown>
}

/** Leases and bounds are short, so that nothing that is left behind stays for long. */
export const LEASE_MS = 600
const STORE_TIMEOUT_MS = 1_500

/** A change that plants a bug into the app; for the proof that programs find it. */
export type Plant = (parts: { readonly store: Store<unknown>; readonly pool: unknown }) => void

/** The app under test. */
export interface Subject {
  /** Answers, or rejects with what the handler threw. */
  send(key: string, body: string): Promise<Response>
  /** Whether the error is one that the handler threw, or had from its statements. */
  isHandlers(error: unknown): boolean
  end(): Promise<unknown>
}

/** What a subject is made from. */
export interface SubjectParts {
  readonly world: World
  readonly program: Program
  /** Of the proxy. */
  readonly port: number
  readonly plant?: Plant | undefined
}

/** Makes the app of a program. */
export async function makeSubject(parts: SubjectParts): Promise<Subject> {
  const { program, world } = parts
  const stored = await LIBRARIES[program.library](parts)
  const { store, execute } = stored
  const thrown = new WeakSet<object>()
  const reprise: Reprise<unknown> = createReprise({
    ...{ store, leaseMs: LEASE_MS, storeTimeoutMs: STORE_TIMEOUT_MS, replayCache: false },
    waitMs: program.waitMs,
  })
  const run: Execute = async (tx, text, values) => {
    try {
      return await execute(tx, text, values)
    } catch (error) {
      if (typeof error === 'object' && error !== null) thrown.add(error)
      throw error
    }
  }
  const handler = handlerOf({ reprise, run, world, mode: program.mode })
  return {
    send: (key, body) =>
      handler(
        new Request('http://localhost/effects', {
          ...{ method: 'POST', body: JSON.stringify({ key, body }) },
          headers: { 'idempotency-key': key, 'content-type': 'application/json' },
        }),
      ),
    isHandlers: (error) => typeof error === 'object' && error !== null && thrown.has(error),
    end: () => stored.end(),
  }
}

const EFFECT = 'insert into effects (id, key, body) values ($1, $2, $3)'
const HALF = 'insert into halves (id) values ($1)'

interface Input {
  readonly key: string
  readonly body: string
}

function handlerOf({
  reprise,
  run,
  world,
  mode,
}: {
  reprise: Reprise<unknown>
  run: Execute
  world: World
  mode: Program['mode']
}): (request: Request) => Promise<Response> {
  const caller = () => 'ada'
  if (mode === 'phases') return serve(phases(reprise, run), { caller })
  if (mode === 'lease') {
    return idempotent<[], unknown>(reprise, { caller }, async (request) => {
      const { key, body } = await inputOf(request)
      const id = randomUUID()
      // As of a service elsewhere, which is reached whatever happens to the store.
      await world.admin.query(EFFECT, [id, key, body])
      await world.admin.query(HALF, [id])
      return Response.json({ id }, { status: 201 })
    })
  }
  const options = { caller, transaction: 'read committed', claim: mode } as const
  return idempotent<[], unknown>(reprise, options, async (request) => {
    const { key, body } = await inputOf(request)
    const id = randomUUID()
    const tx = txOf<unknown>(request)
    await run(tx, EFFECT, [id, key, body])
    await run(tx, HALF, [id])
    return Response.json({ id }, { status: 201 })
  })
}

// What the tests themselves have sent.
const inputOf = async (request: Request): Promise<Input> => (await request.json()) as Input

const ANY_INPUT: Schema<Input> = {
  '~standard': {
    version: 1,
    vendor: 'test',
    // As above.
    validate: (value) => ({ value: value as Input }),
  },
}

function phases(reprise: Reprise<unknown>, run: Execute) {
  return operation(
    'effect',
    { reprise, input: ANY_INPUT },
    {
      started: phase(async ({ tx, input }) => {
        const id = randomUUID()
        await run(tx, EFFECT, [id, input.key, input.body])
        return advance('begun', { id })
      }),
      begun: phase(async ({ tx }, { id }: { id: string }) => {
        await run(tx, HALF, [id])
        return respond(201, { id })
      }),
    },
  )
}

const CONNECT_MS = 1_000

function through({ world, port }: SubjectParts): string {
  const url = new URL(world.servers.postgres)
  url.host = `127.0.0.1:${port}`
  return url.href
}

async function overPg(parts: SubjectParts, pipeline: boolean): Promise<Stored> {
  const pool = new pg.Pool({
    ...{ connectionString: through(parts), max: 3, pipeline },
    connectionTimeoutMillis: CONNECT_MS,
  })
  const store: Store<unknown> = postgresStore(pool, { migrate: false }) as Store<unknown>
  parts.plant?.({ store, pool })
  return {
    store,
    // Transactions of this store are connections of pg.
    execute: (tx, text, values) => (tx as pg.PoolClient).query(text, values),
    async end() {
      await store.close()
      await pool.end()
    },
  }
}

async function overPostgresJs(parts: SubjectParts): Promise<Stored> {
  const sql = postgres(through(parts), {
    ...{ max: 3, connect_timeout: CONNECT_MS / 1000, fetch_types: false, backoff: () => 0.01 },
  })
  const store = postgresStore(sql, { migrate: false }) as Store<unknown>
  parts.plant?.({ store, pool: sql })
  return {
    store,
    // Transactions of this store are those of postgres.js.
    execute: (tx, text, values) => (tx as postgres.TransactionSql).unsafe(text, values),
    async end() {
      await store.close()
      await sql.end({ timeout: 0.2 })
    },
  }
}

const REDIS_OPTIONS = { prefix: 'reprise-wires:', onUnsafe: 'ignore' } as const

const noTransactions: Execute = () => Promise.reject(new Error('Redis has no transactions.'))

async function overNodeRedis({ port, plant }: SubjectParts): Promise<Stored> {
  const socket = { host: '127.0.0.1', port, reconnectStrategy: 10, connectTimeout: CONNECT_MS }
  const client = createClient({ socket })
  const store = redisStore(client, REDIS_OPTIONS) as Store<unknown>
  plant?.({ store, pool: client })
  void client.connect().catch(() => {})
  return {
    ...{ store, execute: noTransactions },
    async end() {
      await store.close()
      client.destroy()
    },
  }
}

async function overIoredis({ port, plant }: SubjectParts): Promise<Stored> {
  const client = new Redis({ host: '127.0.0.1', port, retryStrategy: () => 10 })
  client.on('error', () => {})
  const store = redisStore(client, REDIS_OPTIONS) as Store<unknown>
  plant?.({ store, pool: client })
  return {
    ...{ store, execute: noTransactions },
    async end() {
      await store.close()
      client.disconnect()
    },
  }
}

const LIBRARIES: Readonly<Record<Library, (parts: SubjectParts) => Promise<Stored>>> = {
  pg: (parts) => overPg(parts, false),
  'pg-pipeline': (parts) => overPg(parts, true),
  'postgres.js': overPostgresJs,
  'node-redis': overNodeRedis,
  ioredis: overIoredis,
}
