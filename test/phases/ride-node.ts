/**
 * A node of the rides service: the operation and the workers in one process, told what to do by
 * messages. It can be made to die, or to pause, at any of its exchanges with the outside.
 */

import pg from 'pg'
import { Stripe } from 'stripe'
import { createReprise } from '../../src/index.ts'
import type { CompleterOptions } from '../../src/phases/index.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { createRide } from './ride.ts'
import {
  type AtTick,
  countTicks,
  onPause,
  stopCounting,
  ticking,
  tickOnPostgres,
  unpause,
} from './ticks.ts'

export interface NodeTask {
  readonly url: string
  /** Port of the provider. */
  readonly provider: number
  readonly leaseMs: number
  readonly completer: CompleterOptions
  /** Whether the workers run by themselves. */
  readonly works: boolean
}

export type NodeOrder =
  | {
      readonly kind: 'ride'
      readonly user: string
      readonly key: string
      /** Dies or pauses at this tick, from 1 or by name; 0 for never. */
      readonly at: number | string
      readonly act: AtTick
    }
  | { readonly kind: 'work'; readonly at: number; readonly act: AtTick }
  | { readonly kind: 'go' }

export type NodeMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'paused'; readonly tick: string }
  | Answer
  | { readonly kind: 'worked'; readonly done: number; readonly ticks: readonly string[] }

/** What a client is told. */
export interface Answer {
  readonly kind: 'answer'
  readonly key: string
  /** How the run ended; `threw` when it did. */
  readonly outcome: string
  readonly status: number | null
  readonly body: string
  readonly ticks: readonly string[]
}

const task = JSON.parse(process.argv[2] ?? '') as NodeTask
const tell = (message: NodeMessage) => void process.send?.(message)

tickOnPostgres()
const pool = new pg.Pool({ connectionString: task.url, max: 8 })
pool.on('error', () => {})
const reprise = createReprise({
  ...{ store: postgresStore(pool), leaseMs: task.leaseMs, replayCache: false },
})
const stripe = new Stripe('sk_test_1', {
  ...{ host: '127.0.0.1', port: task.provider, protocol: 'http', maxNetworkRetries: 0 },
  ...{ telemetry: false, timeout: 5000 },
  httpClient: Stripe.createFetchHttpClient((...request: Parameters<typeof fetch>) => {
    return ticking('charge', () => fetch(...request))
  }),
})
const ride = createRide({ reprise, stripe, completer: task.completer })
/** Durable, and the same job twice is one receipt. */
const sink = functionSink(async ({ id, name, args }) => {
  await pool.query(
    `insert into receipts (job_id, name, user_id) values ($1, $2, $3)
         on conflict (job_id) do update set deliveries = receipts.deliveries + 1`,
    [id, name, (args as { user: string }).user],
  )
})
const workers = createWorkers(reprise, {
  ...{ operations: [ride], sink },
  completer: { everyMs: 200, concurrency: task.works ? 4 : 1 },
  enqueuer: { everyMs: 200, retryMs: 100 },
  reaper: { everyMs: 1000 },
})

const TRIP = { origin: { lat: 37.8, lon: -122.4 }, target: { lat: 46.9, lon: 7.4 } }

async function answerTo(order: NodeOrder & { kind: 'ride' }): Promise<void> {
  const { user, key, at, act } = order
  const ticks = task.works ? [] : countTicks(at, act)
  const origin = { ip: '203.0.113.7' }
  try {
    const result = await ride.run({ caller: user, key, input: TRIP, origin })
    const response = 'response' in result ? result.response : undefined
    const body = new TextDecoder().decode(response?.body)
    // The last point: everything is done and nobody has been told.
    await ticking('answer', async () => {})
    const status = response?.status ?? null
    tell({ kind: 'answer', key, outcome: result.outcome, status, body, ticks })
  } catch (error) {
    tell({ kind: 'answer', key, outcome: 'threw', status: null, body: String(error), ticks })
  }
  stopCounting()
}

async function work(order: NodeOrder & { kind: 'work' }): Promise<void> {
  const ticks = countTicks(order.at, order.act)
  const { completer, enqueuer, reaper } = await workers.runOnce()
  stopCounting()
  tell({ kind: 'worked', done: completer + enqueuer + reaper, ticks })
}

onPause((tick) => tell({ kind: 'paused', tick }))
process.on('message', (text) => {
  const order = JSON.parse(String(text)) as NodeOrder
  if (order.kind === 'go') unpause()
  else if (order.kind === 'work') void work(order)
  else void answerTo(order)
})
process.on('disconnect', () => process.exit())
if (task.works) workers.start()
tell({ kind: 'ready' })
