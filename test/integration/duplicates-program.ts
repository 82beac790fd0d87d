/**
 * One of several processes that send the same request many times at once. Says `ready`, waits for the
 * word to go, and tells how each copy was answered.
 */

import pg from 'pg'
import { createReprise } from '../../src/engine/reprise.ts'
import type { CapturedResponse } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

export interface DuplicatesTask {
  readonly url: string
  readonly mode: 'lease' | 'transaction'
  readonly copies: number
  readonly handlerMs: number
}

export type DuplicatesMessage =
  | 'ready'
  | {
      readonly outcomes: Readonly<Record<string, number>>
      readonly bodies: readonly string[]
      /** Most connections in use at any time while copies waited. */
      readonly connectionsBusy: number
    }

const CONNECTIONS_MAX = 8

/** The effect, on whichever connection the mode gives. */
async function effect(
  client: { query(sql: string): Promise<unknown> },
  ms: number,
): Promise<CapturedResponse> {
  await client.query(`insert into effects (pid) values (${process.pid})`)
  await new Promise((resolve) => setTimeout(resolve, ms))
  return { status: 201, headers: [], body: new TextEncoder().encode(`made by ${process.pid}`) }
}

async function main({ url, mode, copies, handlerMs }: DuplicatesTask): Promise<void> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS_MAX, pipeline: true })
  const reprise = createReprise({ store: postgresStore(pool), waitMs: 60_000, replayCache: false })
  // A request of its own first, so that nothing but the duplicates is measured.
  await reprise.run(
    { caller: 'warm', operation: 'up', key: String(process.pid), fingerprints: ['f'] },
    async () => ({ status: 200, headers: [], body: new Uint8Array() }),
  )
  process.send?.('ready')
  await new Promise((resolve) => process.once('message', resolve))

  const request = { caller: 'acct', operation: 'POST /charges', key: 'hot', fingerprints: ['f'] }
  let connectionsBusy = 0
  const watch = setInterval(() => {
    connectionsBusy = Math.max(connectionsBusy, pool.totalCount - pool.idleCount)
  }, 5)
  const results = await Promise.all(
    Array.from({ length: copies }, () =>
      mode === 'lease'
        ? reprise.run(request, () => effect(pool, handlerMs))
        : reprise.runInTransaction(request, ({ tx }) => effect(tx, handlerMs)),
    ),
  )
  clearInterval(watch)

  const outcomes: Record<string, number> = {}
  const bodies = new Set<string>()
  for (const result of results) {
    outcomes[result.outcome] = (outcomes[result.outcome] ?? 0) + 1
    if ('response' in result) bodies.add(new TextDecoder().decode(result.response.body))
  }
  process.send?.({ outcomes, bodies: [...bodies], connectionsBusy } satisfies DuplicatesMessage)
  await reprise.close()
  await pool.end()
  process.disconnect?.()
}

await main(JSON.parse(process.argv[2] ?? '') as DuplicatesTask)
