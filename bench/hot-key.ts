/**
 * One key, asked for a thousand times at once in two processes, while requests with other keys go on.
 *
 * @module
 */

import { type SenderChild, type ServerChild, startSender, startServer } from './child.ts'
import { bodyOf, freshKey, type LoadResult, send } from './load.ts'
import { median, quantile } from './measure.ts'
import { type CountingProxy, countingProxy } from './proxy.ts'
import { SLOW } from './servers/work.ts'
import type { World } from './world.ts'

/** What came of it. Times are medians over the rounds, counts are those of the worst. */
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
  /**
   * The same where as many requests come in at once to servers without protection, which only wait and
   * answer them: what a thousand requests do to other keys by themselves.
   */
  readonly controlP99Ratio: number
}

const DUPLICATES = 1000
const HANDLER_MS = 1000

/** How often the duplicates are sent beside other keys. */
const ROUNDS = 3

/** What they are sent to besides: a handler without protection. */
const CONTROL = 'express/bare'

/** Requests with other keys, to each process. */
const OTHERS = { connections: 8, perSecond: 100, ms: 3000 }

/** Sends the duplicates: once with nothing else, to count; then beside other keys, to measure these. */
export async function hotKey(world: World, variant: string): Promise<HotKey> {
  const counted = await counting(world, variant)
  const sender = await startSender()
  try {
    const own = await rounds(world, variant, sender)
    const control = await rounds(world, CONTROL, sender)
    return {
      ...{ variant, duplicates: DUPLICATES, handlerMs: HANDLER_MS, ...counted },
      executions: Math.max(...own.map(({ executions }) => executions)),
      failures: Math.max(...own.map(({ failures }) => failures)),
      allMs: median(own.map(({ allMs }) => allMs)),
      othersP99Ratio: median(own.map(({ p99Ratio }) => p99Ratio)),
      controlP99Ratio: median(control.map(({ p99Ratio }) => p99Ratio)),
    }
  } finally {
    await sender.stop()
  }
}

interface Round {
  readonly executions: number
  readonly failures: number
  readonly allMs: number
  readonly p99Ratio: number
}

async function rounds(world: World, variant: string, sender: SenderChild): Promise<Round[]> {
  const task = { ...world.task(variant), slowMs: HANDLER_MS }
  const servers = [await startServer(task), await startServer(task)]
  const others = () => sender.send(servers.map(({ port }) => ({ port, ...OTHERS })))
  try {
    for (const { port } of servers) {
      await send({ port, connections: 16, requests: 500, nextKey: freshKey })
    }
    const found: Round[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const alone = await others()
      const rows = await rowsOf(world)
      const [meanwhile, results] = await Promise.all([others(), burst(servers)])
      const otherRows = meanwhile.reduce((sum, { requests }) => sum + requests, 0)
      found.push({
        executions: (await rowsOf(world)) - rows - otherRows,
        failures: [...results, ...meanwhile].reduce((sum, { failures }) => sum + failures, 0),
        allMs: Math.max(...results.map(({ seconds }) => seconds * 1000)),
        p99Ratio: p99Of(meanwhile) / p99Of(alone),
      })
    }
    return found
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
