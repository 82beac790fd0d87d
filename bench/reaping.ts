/**
 * Removing expired records while traffic runs: by the reaper, and by one `DELETE` of them all.
 *
 * @module
 */

import pg from 'pg'
import { runReaper, type ServerChild, startServer } from './child.ts'
import { fill, takeSample } from './fill.ts'
import { freshKey, type LoadResult, send } from './load.ts'
import { tableOf } from './markdown.ts'
import { quantile } from './measure.ts'
import type { Settings } from './settings.ts'
import type { World } from './world.ts'

/** One way of removing them. */
export interface Removal {
  readonly how: 'reaper' | 'one DELETE'
  readonly removed: number
  readonly rowsPerSecond: number
  /** Latency of the traffic before, in milliseconds. */
  readonly quiet: Latency
  /** Latency of the traffic meanwhile. */
  readonly during: Latency
  /** The one 99th percentile over the other. */
  readonly p99Ratio: number
  readonly failures: number
}

/** Of a stretch of traffic. */
export interface Latency {
  readonly p50Ms: number
  readonly p99Ms: number
  readonly maxMs: number
}

/** Everything that was found. */
export interface Reaping {
  readonly expired: number
  /** Records that stay. */
  readonly live: number
  /** Requests a second meanwhile. */
  readonly trafficPerSecond: number
  readonly removals: Removal[]
}

const VARIANT = 'express/transaction'
const CONNECTIONS = 16

/** Requests a second: the server is busy, and has room for more. */
const PER_SECOND = 200

/** Records that stay, for each that goes. */
const LIVE_SHARE = 0.1

/** How long traffic alone is looked at, in milliseconds. */
const QUIET_MS = 30_000

/** Measures both. */
export async function reaping(
  world: World,
  { expired, isQuick }: Settings,
  progress: (text: string) => void,
): Promise<Reaping> {
  await asUsual(world.database)
  await takeSample(world.database, world.task(VARIANT))
  const live = Math.round(expired * LIVE_SHARE)
  const removals: Removal[] = []
  for (const how of ['reaper', 'one DELETE'] as const) {
    progress(`filling ${expired} expired records and ${live} others`)
    await world.database.query('truncate reprise.records')
    await fill(world.database, { from: 0, to: live })
    // The youngest has expired a minute ago.
    const span = { from: live, to: live + expired, expireInMs: -(live + expired) - 60_000 }
    await fill(world.database, span, (rows) => progress(`filled ${rows}`))
    const server = await startServer(world.task(VARIANT))
    try {
      removals.push(
        await removal(world, { how, server, progress, quietMs: isQuick ? 5000 : QUIET_MS }),
      )
    } finally {
      await server.stop()
    }
  }
  return { expired, live, trafficPerSecond: PER_SECOND, removals }
}

/** Checkpoints and vacuuming as PostgreSQL does them unless told otherwise. */
async function asUsual(database: pg.Pool): Promise<void> {
  for (const name of ['checkpoint_timeout', 'max_wal_size', 'autovacuum']) {
    await database.query(`alter system reset ${name}`)
  }
  await database.query('select pg_reload_conf()')
}

interface Removing {
  readonly how: Removal['how']
  readonly server: ServerChild
  readonly quietMs: number
  readonly progress: (text: string) => void
}

async function removal(
  world: World,
  { how, server, quietMs, progress }: Removing,
): Promise<Removal> {
  const traffic = { port: server.port, connections: CONNECTIONS, nextKey: freshKey }
  // Compiled and connected.
  await send({ ...traffic, requests: 3000 })
  progress(`${how}: traffic alone`)
  const before = await send({ ...traffic, perSecond: PER_SECOND, ms: quietMs })
  progress(`${how}: removing`)
  let isOver = false
  const meanwhile = send({ ...traffic, perSecond: PER_SECOND, isOver: () => isOver })
  const { removed, seconds } = await (how === 'reaper'
    ? runReaper(world.task(VARIANT))
    : deleteAll(world)
  ).finally(() => {
    isOver = true
  })
  const load = await meanwhile
  const [quiet, during] = [latencyOf(before), latencyOf(load)]
  return {
    ...{ how, removed, rowsPerSecond: removed / seconds, quiet, during },
    p99Ratio: during.p99Ms / quiet.p99Ms,
    failures: before.failures + load.failures,
  }
}

async function deleteAll({ databaseUrl }: World): Promise<{ removed: number; seconds: number }> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const startedAt = performance.now()
  const { rowCount } = await client.query('delete from reprise.records where expires_at < now()')
  const seconds = (performance.now() - startedAt) / 1000
  await client.end()
  return { removed: rowCount ?? 0, seconds }
}

function latencyOf({ latencies }: LoadResult): Latency {
  const sorted = [...latencies].sort((a, b) => a - b)
  return {
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    maxMs: sorted.at(-1) ?? Number.NaN,
  }
}

/** As a table. */
export function reapingTable({ removals, expired, live, trafficPerSecond }: Reaping): string {
  const rows = removals.map(({ how, rowsPerSecond, quiet, during, p99Ratio, failures }) => [
    ...[how, rowsPerSecond.toFixed(0), p99Ratio.toFixed(2)],
    `${during.p50Ms.toFixed(1)} (${quiet.p50Ms.toFixed(1)})`,
    `${during.p99Ms.toFixed(1)} (${quiet.p99Ms.toFixed(1)})`,
    `${during.maxMs.toFixed(0)} (${quiet.maxMs.toFixed(0)})`,
    String(failures),
  ])
  const head = [
    ...[`${expired} expired, ${live} not, ${trafficPerSecond} requests/s`, 'rows/s', 'p99 ×'],
    ...['p50 ms (before)', 'p99 ms (before)', 'longest ms (before)', 'failed'],
  ]
  return tableOf(head, rows)
}
