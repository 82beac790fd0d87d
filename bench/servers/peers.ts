/**
 * The peers, each as its own documents say. They are installed apart (`bench/peers`), so they
 * are required by name when asked for, and typed here as far as they are used.
 *
 * @module
 */

import { createRequire } from 'node:module'
import { join } from 'node:path'
import { createClient } from 'redis'
import type { Middleware, Route } from './frameworks.ts'
import { poolOf, type ServerTask } from './setups.ts'
import { insertRide, insertRideAlone, type NewRide, type Ride } from './work.ts'

/** The setups of peers. */
export const PEERS = {
  'node-idempotency-redis': nodeIdempotencyOnRedis,
  'node-idempotency-memory': nodeIdempotencyInMemory,
  'powertools-redis': powertools,
  'express-idempotency-redis': (task: ServerTask) => expressIdempotency(task, true),
  'express-idempotency-memory': (task: ServerTask) => expressIdempotency(task, false),
  dbos: (task: ServerTask) => dbos(task, 1),
  'dbos-phases': (task: ServerTask) => dbos(task, 3),
}

const requirePeer = createRequire(join(import.meta.dirname, 'peers', 'package.json'))

/** The package, as far as it is used: what is installed is pinned, and run before it is measured. */
function peer<Module>(name: string): Module {
  return requirePeer(name) as Module
}

interface KeyedRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly path: string
  readonly method: string
  readonly body: NewRide
}

interface NodeIdempotency {
  onRequest(request: KeyedRequest): Promise<{ readonly body?: object } | undefined>
  onResponse(request: KeyedRequest, response: { readonly body: object }): Promise<void>
}

interface NodeIdempotencyCore {
  readonly Idempotency: new (storage: object) => NodeIdempotency
}

async function nodeIdempotencyOnRedis(task: ServerTask): Promise<Route> {
  type Adapter = new (options: object) => { connect(): Promise<void> }
  const { RedisStorageAdapter } = peer<{ readonly RedisStorageAdapter: Adapter }>(
    '@node-idempotency/storage-adapter-redis',
  )
  const storage = new RedisStorageAdapter({ url: task.redisUrl })
  await storage.connect()
  return nodeIdempotency(task, storage)
}

async function nodeIdempotencyInMemory(task: ServerTask): Promise<Route> {
  const { MemoryStorageAdapter } = peer<{ readonly MemoryStorageAdapter: new () => object }>(
    '@node-idempotency/storage-adapter-memory',
  )
  return nodeIdempotency(task, new MemoryStorageAdapter())
}

/** Its core behind a thin glue: its own adapters for the frameworks are not on npm. */
async function nodeIdempotency(task: ServerTask, storage: object): Promise<Route> {
  const { Idempotency } = peer<NodeIdempotencyCore>('@node-idempotency/core')
  const idempotency = new Idempotency(storage)
  const pool = poolOf(task, false)
  return {
    async handle(_, request) {
      // Express and Fastify both have these.
      const { headers, body } = request as KeyedRequest
      const keyed = { headers, body, path: '/rides', method: 'POST' }
      const stored = await idempotency.onRequest(keyed)
      if (stored?.body !== undefined) return stored.body
      const answer = await insertRideAlone(pool, body)
      await idempotency.onResponse(keyed, { body: answer })
      return answer
    },
  }
}

interface Powertools {
  readonly makeIdempotent: (
    work: (event: PowertoolsEvent) => Promise<Ride>,
    options: object,
  ) => (event: PowertoolsEvent) => Promise<Ride>
  readonly IdempotencyConfig: new (
    options: object,
  ) => { registerLambdaContext(context: object): void }
}

interface PowertoolsEvent {
  readonly key: string
  readonly ride: NewRide
}

async function powertools(task: ServerTask): Promise<Route> {
  const name = '@aws-lambda-powertools/idempotency'
  const { makeIdempotent, IdempotencyConfig } = peer<Powertools>(name)
  type Layer = new (options: object) => object
  const { CachePersistenceLayer } = peer<{ readonly CachePersistenceLayer: Layer }>(`${name}/cache`)
  const client = await createClient({ url: task.redisUrl }).connect()
  const pool = poolOf(task, false)
  // Its check of the payload refuses every replay from a cache in this version, so it is left off.
  const config = new IdempotencyConfig({ eventKeyJmesPath: 'key' })
  // Outside of Lambda it has to be told, or it writes a warning for every request.
  config.registerLambdaContext({ getRemainingTimeInMillis: () => 30_000 })
  const once = makeIdempotent(({ ride }) => insertRideAlone(pool, ride), {
    ...{ persistenceStore: new CachePersistenceLayer({ client }), config, keyPrefix: 'rides' },
  })
  return {
    handle(ride, request) {
      // Express has them.
      const { headers } = request as KeyedRequest
      return once({ key: headers['idempotency-key'] ?? '', ride })
    },
  }
}

interface ExpressIdempotency {
  readonly idempotency: (options: object) => Middleware
  readonly getSharedIdempotencyService: () => { isHit(request: object): boolean }
}

async function expressIdempotency(task: ServerTask, isOnRedis: boolean): Promise<Route> {
  const { idempotency, getSharedIdempotencyService } =
    peer<ExpressIdempotency>('express-idempotency')
  const pool = poolOf(task, false)
  const options = isOnRedis ? { dataAdapter: await redisAdapter(task) } : {}
  return {
    middleware: [idempotency(options)],
    handle: async (ride, request) =>
      getSharedIdempotencyService().isHit(request) ? {} : insertRideAlone(pool, ride),
  }
}

async function redisAdapter({ redisUrl }: ServerTask): Promise<object> {
  type Adapter = new (options: object) => { connect(): Promise<void> }
  // It is CommonJS with a default export, which Node gives as a member of its own.
  const module = peer<{ readonly default: Adapter | { readonly default: Adapter } }>(
    'express-idempotency-redis-adapter',
  )
  const RedisAdapter = 'default' in module.default ? module.default.default : module.default
  const adapter = new RedisAdapter({ connectionConfig: { url: redisUrl } })
  await adapter.connect()
  return adapter
}

interface Dbos {
  readonly DBOS: {
    setConfig(config: object): void
    registerWorkflow<T>(work: (ride: NewRide) => Promise<T>, options: object): typeof work
    runStep<T>(work: () => Promise<T>, options: object): Promise<T>
    withNextWorkflowID<T>(id: string, work: () => Promise<T>): Promise<T>
    launch(): Promise<void>
  }
}

interface DbosSource {
  runTransaction<T>(work: () => Promise<T>, options: object): Promise<T>
  readonly client: { unsafe(text: string, values: unknown[]): Promise<{ id: string }[]> }
}

interface DbosSources {
  readonly PostgresDataSource: (new (
    name: string,
    options: object,
  ) => DbosSource) & {
    initializeDBOSSchema(options: object): Promise<void>
  }
}

/** A workflow whose id is the key; with three steps, those of `phases`. */
async function dbos(task: ServerTask, steps: 1 | 3): Promise<Route> {
  const { DBOS } = peer<Dbos>('@dbos-inc/dbos-sdk')
  const { PostgresDataSource } = peer<DbosSources>('@dbos-inc/postgres-datasource')
  const { hostname: host, port, pathname, username: user } = new URL(task.databaseUrl)
  const options = { host, port: Number(port), database: pathname.slice(1), user, max: 20 }
  const source = new PostgresDataSource('rides', { ...options, onnotice: () => {} })
  await PostgresDataSource.initializeDBOSSchema({ ...options, onnotice: () => {} })
  const tx = {
    query: async ({ text, values }: { text: string; values: unknown[] }) => ({
      rows: await source.client.unsafe(text, values),
    }),
    // insertRide sends one statement, in this form.
  } as unknown as Parameters<typeof insertRide>[0]
  const workflow = DBOS.registerWorkflow(
    async (ride) => {
      const answer = await source.runTransaction(() => insertRide(tx, ride), { name: 'insert' })
      if (steps === 1) return answer
      const charge = await DBOS.runStep(async () => `charge-${answer.id}`, { name: 'charge' })
      const update = 'update rides set note = $2 where id = $1'
      await source.runTransaction(() => source.client.unsafe(update, [answer.id, charge]), {
        name: 'update',
      })
      return answer
    },
    { name: 'create_ride' },
  )
  DBOS.setConfig({
    ...{ name: 'bench', systemDatabaseUrl: task.databaseUrl, systemDatabasePoolSize: 20 },
    ...{ logLevel: 'error', runAdminServer: false },
  })
  await DBOS.launch()
  return {
    handle(ride, request) {
      // Express has them.
      const { headers } = request as KeyedRequest
      return DBOS.withNextWorkflowID(headers['idempotency-key'] ?? '', () => workflow(ride))
    },
  }
}
