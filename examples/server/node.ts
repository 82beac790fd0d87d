/**
 * A node of the server: database, engine, APIs and workers, in one process.
 *
 * @module
 */

import pg from 'pg'
import { createReprise, type EventListener, type Reprise } from 'reprise'
import { postgresStore } from 'reprise/postgres'
import { functionSink } from 'reprise/sinks/function'
import {
  combine,
  createMetrics,
  keepDuplicates,
  keepStats,
  type Metrics,
  type StatsKeeper,
} from 'reprise/telemetry'
import { createWorkers, type WorkerEvent, type Workers } from 'reprise/workers'
import type { Stripe } from 'stripe'
import { type LoadedApi, type RunningApi, startApi } from './apis.ts'
import { ENGINE } from './engine.ts'
import { FaultLog } from './fault-log.ts'
import { type PointListener, RequestFaults } from './faults.ts'
import { createMailer, type Mailer } from './mailer.ts'
import { createStripe } from './payments.ts'
import { applySchemas } from './queries.ts'
import type { Services } from './supervision/services.ts'

/** What a node is told. */
export interface NodeOrder {
  readonly services: Services
  /** Where clients reach the server, without a slash at its end. */
  readonly url: string
  readonly stripeApiKey: string
  /** Whether it runs the workers, too. */
  readonly hasWorkers: boolean
}

/** Who is told of what a node does. */
export interface NodeWatch {
  readonly onEvent?: EventListener
  readonly onWorkerEvent?: (event: WorkerEvent) => void
  readonly onPoint?: PointListener
}

/** A node that runs. */
export interface Node {
  readonly pool: pg.Pool
  readonly reprise: Reprise<pg.PoolClient>
  readonly stripe: Stripe
  readonly faults: RequestFaults
  readonly faultLog: FaultLog
  readonly metrics: Metrics
  readonly apis: readonly RunningApi[]
  readonly workers: Workers
  /** What the completer drives on. */
  readonly operations: readonly Completable[]
  /** Finishes what runs, within a few seconds, and lets everything go. */
  close(): Promise<void>
}

/** How long requests that run may still take at the end, in milliseconds. */
const GRACE_MS = 3000

/** How often the workers look, in milliseconds; a commit wakes the enqueuer at once. */
const LOOK_MS = 1000

/** How long counters and notes of the dashboard may be behind, in milliseconds. */
const STATS_MS = 2000

/**
 * When the completer takes up what was left, in milliseconds: as soon as a client has had a chance to
 * come back by itself. Short for the same reason as the lease.
 */
const HASTE = { graceMs: 5000, retryMs: 1000, retryMsMax: 10_000 }

/** Starts a node. */
export async function startNode(
  { services, url, stripeApiKey, hasWorkers }: NodeOrder,
  loaded: readonly LoadedApi[],
  watch: NodeWatch = {},
): Promise<Node> {
  const { hasSessions } = services
  const pool = new pg.Pool({
    connectionString: services.databaseUrl,
    max: 20,
    pipeline: hasSessions,
  })
  // A connection that breaks while it is idle is replaced; without a listener it would end us.
  pool.on('error', () => {})
  const faultLog = new FaultLog(services.faultLog)
  const faults = new RequestFaults({
    onReached: watch.onPoint,
    onCarriedOut: (key, fault) => faultLog.note(key, fault),
  })
  const store = postgresStore(pool, { prepare: hasSessions, listen: hasSessions })
  const metrics = createMetrics({ store })
  const stats = keepStats(store, { everyMs: STATS_MS })
  const duplicates = keepDuplicates(store, { everyMs: STATS_MS })
  // The faults come last: they may end the process.
  const onEvent = combine(
    ...[metrics.onEvent, stats.onEvent, duplicates.onEvent, watch.onEvent, faults.onEvent],
  )
  const reprise = createReprise({ ...ENGINE, store, onEvent })
  const tools = {
    stripe: createStripe({
      ...{ base: services.stripeApiBase, key: stripeApiKey },
      isDown: () => faults.isProviderDown(),
    }),
    mailer: createMailer(services.smtpUrl),
  }
  await store.ready()
  await applySchemas(
    pool,
    loaded.map(({ schema }) => schema),
  )
  const apis: RunningApi[] = []
  for (const api of loaded) apis.push(await startApi(api, { pool, reprise, faults, url }, tools))
  const onWorkerEvent = combine<WorkerEvent>(
    ...[metrics.onWorkerEvent, stats.onWorkerEvent, watch.onWorkerEvent],
  )
  const operations = apis.flatMap((api) => api.operations).map(hastened)
  const workers = createNodeWorkers(reprise, { apis, operations }, onWorkerEvent)
  if (hasWorkers) workers.start()
  const close = () =>
    closeNode({ pool, reprise, workers, keepers: [stats, duplicates], mailer: tools.mailer })
  const { stripe } = tools
  return { pool, reprise, stripe, faults, faultLog, metrics, apis, workers, operations, close }
}

function createNodeWorkers(
  reprise: Reprise<pg.PoolClient>,
  { apis, operations }: Pick<Node, 'apis' | 'operations'>,
  onEvent: (event: WorkerEvent) => void,
): Workers {
  const jobs = new Map(apis.flatMap((api) => Object.entries(api.jobs)))
  return createWorkers<pg.PoolClient>(reprise, {
    operations,
    sink: functionSink(async (job) => {
      const work = jobs.get(job.name)
      if (work === undefined) throw new Error(`Nobody here does jobs named ${job.name}.`)
      await work(job)
    }),
    enqueuer: { everyMs: LOOK_MS },
    completer: { everyMs: LOOK_MS },
    onEvent(event) {
      onEvent(event)
      if (event.error !== undefined) console.error(`${event.worker}:`, event.error)
    },
  })
}

type Completable = RunningApi['operations'][number]

/** The same operation, taken up sooner. */
function hastened(operation: Completable): Completable {
  const { name, reprise, edition, patience } = operation
  return {
    ...{ name, reprise, edition, patience: { ...patience, ...HASTE } },
    resume: (taken) => operation.resume(taken),
    abandon: (taken) => operation.abandon(taken),
  }
}

interface Closing {
  readonly pool: pg.Pool
  readonly reprise: Reprise<pg.PoolClient>
  readonly workers: Workers
  /** What brings counters and notes to the store. */
  readonly keepers: readonly Pick<StatsKeeper, 'close'>[]
  readonly mailer: Mailer
}

async function closeNode({ pool, reprise, workers, keepers, mailer }: Closing): Promise<void> {
  await Promise.all([workers.stop(), reprise.close({ graceMs: GRACE_MS })])
  await Promise.all(keepers.map((keeper) => keeper.close()))
  mailer.close()
  await pool.end()
}
