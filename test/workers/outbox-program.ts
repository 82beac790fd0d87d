/**
 * A process with an enqueuer, whose sink writes down each arrival on a connection of its own, so that
 * it is there whatever becomes of the removal. Told to, it waits after a delivery, before the removal,
 * to be killed there.
 */

import pg from 'pg'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { createWorkers, type Sink } from '../../src/workers/index.ts'

export interface OutboxTask {
  readonly url: string
  readonly batchMax: number
  /** After this many batches, waits to be killed; never with 0. */
  readonly batchesBeforeDeath: number
}

export interface OutboxMessage {
  readonly said: 'delivered' | 'stopped'
  readonly pid: number
}

const { url, batchMax, batchesBeforeDeath } = JSON.parse(process.argv[2] ?? '') as OutboxTask

const tell = (said: OutboxMessage['said']) =>
  process.send?.({ said, pid: process.pid } satisfies OutboxMessage)

const arrivals = new pg.Pool({ connectionString: url, max: 1 })
let batches = 0
const sink: Sink = {
  name: 'arrivals',
  async deliver(jobs) {
    await arrivals.query(
      `insert into arrivals (id, n, node)
       select * from unnest($1::uuid[], $2::integer[], $3::integer[])`,
      [jobs.map(({ id }) => id), jobs.map(({ args }) => args), jobs.map(() => process.pid)],
    )
    batches++
    if (batches !== batchesBeforeDeath) return undefined
    tell('delivered')
    return new Promise(() => {})
  },
}

const pool = new pg.Pool({ connectionString: url, max: 4 })
const reprise = createReprise({ store: postgresStore(pool) })
const workers = createWorkers(reprise, {
  sink,
  ...{ completer: false, reaper: false, enqueuer: { batchMax, everyMs: 200 } },
})
async function stop(): Promise<void> {
  await workers.stop()
  await reprise.close()
  await Promise.all([pool.end(), arrivals.end()])
  tell('stopped')
  process.disconnect?.()
}

process.once('message', () => void stop())
workers.start()
