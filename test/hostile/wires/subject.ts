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
import type { Library, Manner, Program } from './program.ts'
import type { World } from './world.ts'

/** Executes a statement of a handler. */
type Execute = (tx: unknown, text: string, values: string[]) => PromiseLike<unknown>

/** Does work in a savepoint of a transaction. */
type Nest = (tx: unknown, work: (inner: unknown) => PromiseLike<unknown>) => Promise<unknown>

/** A store, with what a handler does on its transactions. */
interface Stored {
  readonly store: Store<unknown>
  readonly execute: Execute
  readonly nest: Nest
  end(): Promise<unknown>
}

/** Leases and bounds are short, so that nothing that is left behind stays for long. */
const LEASE_MS = 600
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
  const { store, execute, nest } = stored
  const thrown = new WeakSet<object>()
  const reprise: Reprise<unknown> = createReprise({
    ...{ store, leaseMs: LEASE_MS, storeTimeoutMs: STORE_TIMEOUT_MS, replayCache: false },
    waitMs: program.waitMs,
  })
  /** Notes what the app's own statements fail with: the handler lets it pass. */
  const noted = async <T>(work: () => PromiseLike<T>): Promise<T> => {
    try {
      return await work()
    } catch (error) {
      if (typeof error === 'object' && error !== null) thrown.add(error)
      throw error
    }
  }
  const run: Execute = (tx, text, values) => noted(() => execute(tx, text, values))
  const nested: Nest = (tx, work) => noted(() => nest(tx, work))
  const writing = writingOf(program.manner, run, nested)
  const handler = handlerOf({ reprise, writing, world, mode: program.mode })
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
const HALF = 'insert into halves (id, key) values ($1, $2)'

/** The halves of an effect, as a handler writes them. */
interface Writing {
  first(tx: unknown, id: string, input: Input): PromiseLike<unknown>
  second(tx: unknown, id: string, input: Input): PromiseLike<unknown>
  both(tx: unknown, id: string, input: Input): Promise<unknown>
}

function writingOf(manner: Manner, run: Execute, nest: Nest): Writing {
  const first: Writing['first'] = (tx, id, { key, body }) => run(tx, EFFECT, [id, key, body])
  const half: Writing['second'] = (tx, id, { key }) => run(tx, HALF, [id, key])
  const second: Writing['second'] = async (tx, id, input) => {
    if (manner === 'savepoint') return nest(tx, (inner) => half(inner, id, input))
    if (manner !== 'stubborn') return half(tx, id, input)
    return Promise.resolve(half(tx, id, input)).catch(() => half(tx, id, input))
  }
  return {
    ...{ first, second },
    async both(tx, id, input) {
      if (manner !== 'at once') {
        await first(tx, id, input)
        return second(tx, id, input)
      }
      const ended = await Promise.allSettled([first(tx, id, input), half(tx, id, input)])
      for (const one of ended) if (one.status === 'rejected') throw one.reason
      return undefined
    },
  }
}

interface Input {
  readonly key: string
  readonly body: string
}

function handlerOf({
  reprise,
  writing,
  world,
  mode,
}: {
  reprise: Reprise<unknown>
  writing: Writing
  world: World
  mode: Program['mode']
}): (request: Request) => Promise<Response> {
  const caller = () => 'ada'
  if (mode === 'phases') return serve(phases(reprise, writing), { caller })
  if (mode === 'lease') {
    return idempotent<[], unknown>(reprise, { caller }, async (request) => {
      const { key, body } = await inputOf(request)
      const id = randomUUID()
      // As of a service elsewhere, which is reached whatever happens to the store.
      await world.admin.query(EFFECT, [id, key, body])
      await world.admin.query(HALF, [id, key])
      return Response.json({ id }, { status: 201 })
    })
  }
  const options = { caller, transaction: 'read committed', claim: mode } as const
  return idempotent<[], unknown>(reprise, options, async (request) => {
    const id = randomUUID()
    await writing.both(txOf<unknown>(request), id, await inputOf(request))
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

function phases(reprise: Reprise<unknown>, writing: Writing) {
  return operation(
    'effect',
    { reprise, input: ANY_INPUT },
    {
      started: phase(async ({ tx, input }) => {
        const id = randomUUID()
        await writing.first(tx, id, input)
        return advance('begun', { id })
      }),
      begun: phase(async ({ tx, input }, { id }: { id: string }) => {
        await writing.second(tx, id, input)
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
  const store = postgresStore(pool, { migrate: false }) as Store<unknown>
  parts.plant?.({ store, pool })
  return {
    store,
    // Transactions of this store are connections of pg.
    execute: (tx, text, values) => (tx as pg.PoolClient).query(text, values),
    async nest(tx, work) {
      const connection = tx as pg.PoolClient
      await connection.query('savepoint part')
      try {
        await work(tx)
      } catch (error) {
        await connection.query('rollback to savepoint part').catch(() => {})
        throw error
      }
    },
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
    nest: (tx, work) => (tx as postgres.TransactionSql).savepoint((inner) => work(inner)),
    async end() {
      await store.close()
      await sql.end({ timeout: 0.2 })
    },
  }
}

const REDIS_OPTIONS = { prefix: 'reprise-wires:', onUnsafe: 'ignore' } as const

const noTransactions = () => Promise.reject(new Error('Redis has no transactions.'))

async function overNodeRedis({ port, plant }: SubjectParts): Promise<Stored> {
  const socket = { host: '127.0.0.1', port, reconnectStrategy: 10, connectTimeout: CONNECT_MS }
  const client = createClient({ socket })
  const store = redisStore(client, REDIS_OPTIONS) as Store<unknown>
  plant?.({ store, pool: client })
  void client.connect().catch(() => {})
  return {
    ...{ store, execute: noTransactions, nest: noTransactions },
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
    ...{ store, execute: noTransactions, nest: noTransactions },
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
