/**
 * The reaper, as a process of its own: one run, then it tells what it removed and ends.
 *
 * @module
 */

import pg from 'pg'
import { createReprise } from 'reprise'
import { postgresStore } from 'reprise/postgres'
import { createWorkers } from 'reprise/workers'
import type { ServerTask } from './setups.ts'

/** What it tells. */
export interface Reaped {
  readonly removed: number
  readonly seconds: number
}

// Written by the benchmark itself.
const { databaseUrl } = JSON.parse(process.argv[2] ?? '{}') as ServerTask
const pool = new pg.Pool({ connectionString: databaseUrl, max: 2 })
const store = postgresStore(pool)
const workers = createWorkers(createReprise({ store }), { completer: false })
const startedAt = performance.now()
const removed = (await workers.reaper?.runOnce()) ?? 0
const reaped: Reaped = { removed, seconds: (performance.now() - startedAt) / 1000 }
await store.close()
await pool.end()
process.send?.(reaped)
process.disconnect()
