/**
 * Wrong configurations, as they come from JavaScript, from `any` and from files: what somebody wrote,
 * and what is called. What each is told stands in docs/guides/options.md.
 *
 * @module
 */

import { idempotent as express } from '../../src/adapters/express.ts'
import { idempotent as fetchHandler } from '../../src/adapters/fetch.ts'
import { idempotent as node } from '../../src/adapters/node.ts'
import { publishedPolicy } from '../../src/adapters/policy.ts'
import { createAdmin } from '../../src/admin/create-admin.ts'
import { openSecretRing } from '../../src/core/secret.ts'
import { createDashboard } from '../../src/dashboard/dashboard.ts'
import { aesGcm } from '../../src/engine/aes-gcm.ts'
import { keyAge } from '../../src/engine/key-age.ts'
import { createReprise, hashSecret, memoryStore } from '../../src/index.ts'
import { memoryDesk } from '../../src/stores/memory/desk.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { keepDuplicates } from '../../src/telemetry/keep-duplicates.ts'
import { keepStats } from '../../src/telemetry/keep-stats.ts'
import { logEvents } from '../../src/telemetry/log-events.ts'
import { createMetrics } from '../../src/telemetry/metrics.ts'
import { openTelemetry } from '../../src/telemetry/open-telemetry.ts'
import { createWorkers } from '../../src/workers/workers.ts'

const URL = 'postgres://app:hunter2@db/app'
const pool = { connect() {}, totalCount: 0, on() {}, query() {} }
const sqlite = { exec() {}, prepare: () => ({}) }
const redis = { sendCommand() {}, duplicate() {} }
const caller = () => 'one'
const store = () => memoryStore({ desk: memoryDesk })
const reprise = () => createReprise({ store: store() })
const withTransactions = () => createReprise({ store: postgresStore(pool as never) })

/** An option of `createReprise`. */
const engine = (options: object) => () => createReprise({ store: store(), ...options })
/** An option of a route. */
const route = (options: object) => () => express(reprise(), { caller, ...options } as never)
const transactional = (options: object) => () =>
  express(withTransactions(), { caller, ...options } as never)

/** What was written, and what is called by it. */
export const WRONG: readonly (readonly [written: string, call: () => unknown])[] = [
  ['createReprise()', () => createReprise(undefined as never)],
  ['createReprise({})', () => createReprise({} as never)],
  ['createReprise(store)', () => createReprise(memoryStore() as never)],
  ['createReprise({ store: pool })', () => createReprise({ store: pool } as never)],
  ['createReprise({ store: url })', () => createReprise({ store: URL } as never)],
  [
    'createReprise({ store: postgresStore })',
    () => createReprise({ store: postgresStore } as never),
  ],
  ['createReprise({ store, retention: 1000 })', engine({ retention: 1000 })],
  ['createReprise({ store, leaseMS: 1000 })', engine({ leaseMS: 1000 })],
  ['createReprise({ store, caller })', engine({ caller })],
  [`createReprise({ store, leaseMs: '30s' })`, engine({ leaseMs: '30s' })],
  ['createReprise({ store, leaseMs: 50 })', engine({ leaseMs: 50 })],
  ['createReprise({ store, retentionMs: -1 })', engine({ retentionMs: -1 })],
  ['createReprise({ store, retentionMs: 1000 })', engine({ retentionMs: 1000 })],
  [`createReprise({ store, waitMs: '5' })`, engine({ waitMs: '5' })],
  ['createReprise({ store, storeTimeoutMs: 0 })', engine({ storeTimeoutMs: 0 })],
  ['createReprise({ store, bodyBytesMax: 1.5 })', engine({ bodyBytesMax: 1.5 })],
  ['createReprise({ store, compressBytesMin: true })', engine({ compressBytesMin: true })],
  ['createReprise({ store, transactionAttemptsMax: 0 })', engine({ transactionAttemptsMax: 0 })],
  [`createReprise({ store, afterCrash: 'retry' })`, engine({ afterCrash: 'retry' })],
  [`createReprise({ store, policy: 'stripe' })`, engine({ policy: 'stripe' })],
  ['createReprise({ store, encryption: key })', engine({ encryption: new Uint8Array(32) })],
  ['createReprise({ store, quota: 100 })', engine({ quota: 100 })],
  ['createReprise({ store, quota: { keys: 10 } })', engine({ quota: { keys: 10 } })],
  [
    'createReprise({ store, quota: { keys: 10, perMs: 1e9 } })',
    engine({ quota: { keys: 10, perMs: 1e9 } }),
  ],
  ['createReprise({ store, onEvent: keepStats(store) })', engine({ onEvent: keepStats(store()) })],
  ['createReprise({ store, replayCache: true })', engine({ replayCache: true })],
  [
    'createReprise({ store, replayCache: { maxBytes: 1 } })',
    engine({ replayCache: { maxBytes: 1 } }),
  ],
  ['createReprise({ store, waiters: { perKey: 1 } })', engine({ waiters: { perKey: 1 } })],
  ['createReprise({ store, waiters: { totalMax: -1 } })', engine({ waiters: { totalMax: -1 } })],
  ['reprise.with({ lease: 1000 })', () => reprise().with({ lease: 1000 } as never)],
  ['idempotent(reprise)', () => express(reprise(), undefined as never)],
  ['idempotent(reprise, {})', () => express(reprise(), {} as never)],
  ['idempotent({ caller }, reprise)', () => express({ caller } as never, reprise() as never)],
  ['idempotent(store, { caller })', () => express(store() as never, { caller })],
  ['idempotent(undefined, { caller })', () => express(undefined as never, { caller })],
  [`idempotent(reprise, { caller: 'one' })`, route({ caller: 'one' })],
  ['idempotent(reprise, { caller, requred: true })', route({ requred: true })],
  ['idempotent(reprise, { caller, onError })', route({ onError() {} })],
  ['idempotent(reprise, { caller, methods: [] })', route({ methods: [] })],
  [`idempotent(reprise, { caller, methods: 'POST' })`, route({ methods: 'POST' })],
  [`idempotent(reprise, { caller, methods: ['GET'] })`, route({ methods: ['GET'] })],
  [`idempotent(reprise, { caller, dialect: 'stripe' })`, route({ dialect: 'stripe' })],
  [`idempotent(reprise, { caller, key: 'X-Key' })`, route({ key: 'X-Key' })],
  [`idempotent(reprise, { caller, required: 'yes' })`, route({ required: 'yes' })],
  [`idempotent(reprise, { caller, streams: 'pass' })`, route({ streams: 'pass' })],
  [
    'idempotent(reprise, { caller, fingerprint: { excludes: [] } })',
    route({ fingerprint: { excludes: [] } }),
  ],
  ['idempotent(reprise, { caller, keyAge: 1000 })', route({ keyAge: 1000 })],
  ['idempotent(reprise, { caller, preferWaitMsMax: -1 })', route({ preferWaitMsMax: -1 })],
  ['idempotent(reprise, { caller, unansweredMs: -1 })', route({ unansweredMs: -1 })],
  [
    'idempotent(reprise, { caller, transaction: true }) on the memory store',
    route({ transaction: true }),
  ],
  [
    `idempotent(reprise, { caller, transaction: 'serialisable' })`,
    transactional({ transaction: 'serialisable' }),
  ],
  [`idempotent(reprise, { caller, claim: 'first' })`, transactional({ claim: 'first' })],
  [
    `idempotent(reprise, { caller, transaction: true, claim: 'later' })`,
    transactional({ transaction: true, claim: 'later' }),
  ],
  [
    'idempotent(reprise, { caller, transaction: true, failOpen: true })',
    transactional({ transaction: true, failOpen: true }),
  ],
  [
    `idempotent(reprise, { caller, transaction: true, streams: 'bypass' })`,
    transactional({ transaction: true, streams: 'bypass' }),
  ],
  [
    'idempotent(reprise, handler, { caller }) of reprise/fetch',
    () => fetchHandler(reprise(), (() => {}) as never, { caller } as never),
  ],
  [
    'idempotent(reprise, { caller }) of reprise/fetch',
    () => fetchHandler(reprise(), { caller }, undefined as never),
  ],
  [
    'idempotent(reprise, { caller }) of reprise/node',
    () => node(reprise(), { caller }, undefined as never),
  ],
  [
    'publishedPolicy({ caller, requird: true })',
    () => publishedPolicy({ caller, requird: true } as never),
  ],
  ['postgresStore(url)', () => postgresStore(URL as never)],
  ['postgresStore()', () => postgresStore(undefined as never)],
  ['postgresStore({ connectionString })', () => postgresStore({ connectionString: URL } as never)],
  [
    `postgresStore(pool, { schemas: 'app' })`,
    () => postgresStore(pool as never, { schemas: 'app' } as never),
  ],
  [`postgresStore(pool, 'app')`, () => postgresStore(pool as never, 'app' as never)],
  [`postgresStore(pool, { schema: 'a"b' })`, () => postgresStore(pool as never, { schema: 'a"b' })],
  [
    'postgresStore(pool, { transactions: db })',
    () => postgresStore(pool as never, { transactions: {} } as never),
  ],
  ['redisStore(url)', () => redisStore('redis://localhost' as never)],
  ['redisStore()', () => redisStore(undefined as never)],
  [
    `redisStore(client, { keyPrefix: 'a' })`,
    () => redisStore(redis as never, { keyPrefix: 'a' } as never),
  ],
  [`redisStore(client, { prefix: '{a}' })`, () => redisStore(redis as never, { prefix: '{a}' })],
  [
    `redisStore(client, { onUnsafe: 'throw' })`,
    () => redisStore(redis as never, { onUnsafe: 'throw' } as never),
  ],
  [`sqliteStore('app.db')`, () => sqliteStore('app.db' as never)],
  ['sqliteStore()', () => sqliteStore(undefined as never)],
  [
    `sqliteStore(db, { journal: 'memory' })`,
    () => sqliteStore(sqlite as never, { journal: 'memory' } as never),
  ],
  ['sqliteStore(db, { busy: 10 })', () => sqliteStore(sqlite as never, { busy: 10 } as never)],
  ['memoryStore({ clocks })', () => memoryStore({ clocks: {} } as never)],
  ['hashSecret(undefined)', () => hashSecret(undefined as never)],
  [`hashSecret('')`, () => hashSecret('')],
  ['aesGcm({ current, key })', () => aesGcm({ current: 'a', key: {} } as never)],
  [
    `aesGcm({ current: 'a', keys: { a: shortKey } })`,
    () => aesGcm({ current: 'a', keys: { a: new Uint8Array(16) } }),
  ],
  ['openSecretRing({ current })', () => openSecretRing({ current: 'a' } as never)],
  ['keyAge({ maxAgeMs: 1000 })', () => keyAge({ maxAgeMs: 1000 } as never)],
  [
    'createWorkers(reprise, { sink: async () => {} })',
    () => createWorkers(withTransactions(), { sink: async () => {} } as never),
  ],
  [
    'createWorkers(reprise, { operations: createOrder })',
    () => createWorkers(reprise(), { operations: {} } as never),
  ],
  [
    'createWorkers(reprise, { reaper: { intervalMs: 1 } })',
    () => createWorkers(reprise(), { reaper: { intervalMs: 1 } } as never),
  ],
  ['createWorkers(reprise, { sinks: [] })', () => createWorkers(reprise(), { sinks: [] } as never)],
  ['createWorkers({ sink })', () => createWorkers({} as never)],
  ['createAdmin(store)', () => createAdmin(store() as never)],
  ['createAdmin(reprise, { grace: 1 })', () => createAdmin(reprise(), { grace: 1 } as never)],
  ['createDashboard({ admin })', () => createDashboard({ admin: createAdmin(reprise()) })],
  [
    'createDashboard({ admin: reprise, unsafeNoAuth: true })',
    () => createDashboard({ admin: reprise(), unsafeNoAuth: true } as never),
  ],
  [
    'createDashboard({ admin, autorize })',
    () => createDashboard({ admin: createAdmin(reprise()), autorize: () => null } as never),
  ],
  ['keepStats(reprise)', () => keepStats(reprise() as never)],
  ['keepStats(store, { every: 1 })', () => keepStats(store(), { every: 1 } as never)],
  ['keepDuplicates()', () => keepDuplicates(undefined as never)],
  ['createMetrics(store)', () => createMetrics(store() as never)],
  ['openTelemetry({ metre })', () => openTelemetry({ metre: {} } as never)],
  ['logEvents()', () => logEvents(undefined as never)],
  [`logEvents(pino, { level: 'info' })`, () => logEvents(console, { level: 'info' } as never)],
]
