/**
 * One key, asked for a thousand times at once in two processes.
 *
 * @module
 */

import { startServer } from './child.ts'
import { freshKey, send } from './load.ts'
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
}

const DUPLICATES = 1000
const HANDLER_MS = 1000

/** Sends the duplicates and counts what was executed. */
export async function hotKey(world: World, variant: string): Promise<HotKey> {
  const task = { ...world.task(variant), slowMs: HANDLER_MS }
  const servers = [await startServer(task), await startServer(task)]
  try {
    for (const { port } of servers) {
      await send({ port, connections: 1, requests: 1, nextKey: freshKey })
    }
    const rows = await rowsOf(world)
    const key = freshKey()
    const half = DUPLICATES / servers.length
    const results = await Promise.all(
      servers.map(({ port }) =>
        send({ port, connections: half, requests: half, nextKey: () => key }),
      ),
    )
    return {
      ...{ variant, duplicates: DUPLICATES, handlerMs: HANDLER_MS },
      executions: (await rowsOf(world)) - rows,
      failures: results.reduce((sum, { failures }) => sum + failures, 0),
      allMs: Math.max(...results.map(({ seconds }) => seconds * 1000)),
    }
  } finally {
    await Promise.all(servers.map((server) => server.stop()))
  }
}

async function rowsOf({ database }: World): Promise<number> {
  const { rows } = await database.query<{ rows: number }>(
    'select count(*)::integer as rows from rides',
  )
  return rows[0]?.rows ?? 0
}
