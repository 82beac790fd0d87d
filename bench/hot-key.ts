/**
 * One key, asked for a thousand times at once in two processes, while requests with other keys go on.
 *
 * @module
 */

import { type ServerChild, startServer } from './child.ts'
import { bodyOf, freshKey, type LoadResult, send } from './load.ts'
import { quantile } from './measure.ts'
import { type CountingProxy, countingProxy } from './proxy.ts'
import { SLOW } from './servers/work.ts'
import type { World } from './world.ts'

/** What came of it. */
export interface HotKey {
  readonly variant: string
  readonly duplicates: number
  /** Rows that were written: one, if all is well. */
  readonly executions: number
  readonly failures: number
  /** How long the handler takes by itself, in milliseconds. */
  readonly handlerMs: number
  /** Until the last duplicate was answered. */
  readonly allMs: number
  /** How often each process waited for its databases meanwhile, without other keys. */
  readonly storeCalls: readonly number[]
  /** How often one does for one request. */
  readonly loneCalls: number
  /** The 99th percentile of requests with other keys, over what it was before. */
  readonly othersP99Ratio: number
}

const DUPLICATES = 1000
const HANDLER_MS = 1000

/** Requests with other keys, to each process. */
const OTHERS = { connections: 8, perSecond: 100, ms: 3000, nextKey: freshKey }

/** Sends the duplicates: once with nothing else, to count; once beside other keys, to measure these. */
export async function hotKey(world: World, variant: string): Promise<HotKey> {
  const counted = await counting(world, variant)
  const task = { ...world.task(variant), slowMs: HANDLER_MS }
  const servers = [await startServer(task), await startServer(task)]
  try {
    for (const { port } of servers) {
      await send({ port, connections: 16, requests: 500, nextKey: freshKey })
    }
    const alone = await others(servers)
    const rows = await rowsOf(world)
    const [meanwhile, results] = await Promise.all([others(servers), burst(servers)])
    const otherRows = meanwhile.reduce((sum, { requests }) => sum + requests, 0)
    return {
      ...{ variant, duplicates: DUPLICATES, handlerMs: HANDLER_MS, ...counted },
      executions: (await rowsOf(world)) - rows - otherRows,
      failures: [...results, ...meanwhile].reduce((sum, { failures }) => sum + failures, 0),
      allMs: Math.max(...results.map(({ seconds }) => seconds * 1000)),
      othersP99Ratio: p99Of(meanwhile) / p99Of(alone),
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

/** The duplicates, half to each process. */
function burst(servers: readonly ServerChild[]): Promise<LoadResult[]> {
  const key = freshKey()
  const half = DUPLICATES / servers.length
  const body = bodyOf(`${SLOW}, as rides over a long way are`)
  return Promise.all(
    servers.map(({ port }) =>
      send({ port, connections: half, requests: half, nextKey: () => key, body }),
    ),
  )
}

function others(servers: readonly ServerChild[]): Promise<LoadResult[]> {
  return Promise.all(servers.map(({ port }) => send({ port, ...OTHERS })))
}

function p99Of(results: readonly LoadResult[]): number {
  const sorted = results.flatMap(({ latencies }) => latencies).sort((a, b) => a - b)
  return quantile(sorted, 0.99)
}

async function counting(
  world: World,
  variant: string,
): Promise<Pick<HotKey, 'storeCalls' | 'loneCalls'>> {
  const proxies: CountingProxy[][] = []
  const servers: ServerChild[] = []
  try {
    for (let process = 0; process < 2; process++) {
      const postgres = await countingProxy(world.databaseUrl)
      const redis = await countingProxy(world.redisUrl ?? world.databaseUrl)
      proxies.push([postgres, redis])
      const urls = { databaseUrl: postgres.url, redisUrl: redis.url }
      servers.push(await startServer({ ...world.task(variant), ...urls, slowMs: HANDLER_MS }))
    }
    const calls = () =>
      proxies.map((both) => both.reduce((sum, { roundTrips }) => sum + roundTrips, 0))
    const lone = async () => {
      const [server] = servers
      if (server === undefined) return
      await send({ port: server.port, connections: 1, requests: 1, nextKey: freshKey })
    }
    // Connected and prepared, also for what waiting needs.
    await burst(servers)
    await lone()
    const [before = 0] = calls()
    await lone()
    const atStart = calls()
    await burst(servers)
    const storeCalls = calls().map((count, process) => count - (atStart[process] ?? 0))
    return { storeCalls, loneCalls: (atStart[0] ?? 0) - before }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
    for (const proxy of proxies.flat()) proxy.close()
  }
}

async function rowsOf({ database }: World): Promise<number> {
  const { rows } = await database.query<{ rows: number }>(
    'select count(*)::integer as rows from rides',
  )
  return rows[0]?.rows ?? 0
}
