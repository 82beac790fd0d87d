/**
 * A node of the example: a process that makes charges, with and without Reprise. Told what to do by
 * its parent, one line of JSON each; `crash` kills it between its insert and its commit.
 */

import pg from 'pg'
import { createReprise } from '../../src/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'

/** What the parent asks for. */
export interface Order {
  readonly attempt: number
  readonly key: string
  readonly amount: number
  readonly isProtected: boolean
  readonly crash: boolean
}

/** What came of it. */
export interface Report {
  readonly attempt: number
  readonly outcome: string
  readonly answer: string
}

const pool = new pg.Pool({ connectionString: process.argv[2] ?? '', max: 4 })
const reprise = createReprise({ store: postgresStore(pool), waitMs: 10_000, replayCache: false })

/** The handler: what an API does for `POST /charges`. */
async function charge(client: pg.Pool | pg.PoolClient, order: Order) {
  const { rows } = await client.query(
    'insert into charges (idempotency_key, amount) values ($1, $2) returning id',
    [order.key, order.amount],
  )
  if (order.crash) {
    process.send?.('inside', () => process.kill(process.pid, 'SIGKILL'))
    await new Promise(() => {})
  }
  return `charge ${rows[0].id}`
}

async function handle(order: Order): Promise<Report> {
  const { attempt, key, isProtected } = order
  if (!isProtected) return { attempt, outcome: 'executed', answer: await charge(pool, order) }

  const request = {
    ...{ caller: 'acct_1', operation: 'POST /charges', key },
    fingerprints: [`amount=${order.amount}`],
  }
  const result = await reprise.runInTransaction(request, async ({ tx }) => {
    const body = Buffer.from(await charge(tx, order))
    return { status: 201, headers: [['Content-Type', 'text/plain']], body }
  })
  const answer = 'response' in result ? new TextDecoder().decode(result.response.body) : ''
  return { attempt, outcome: result.outcome, answer }
}

process.on('message', (order: Order) => {
  handle(order).then(
    (report) => process.send?.(report),
    (error: Error) => process.send?.({ ...order, outcome: 'failed', answer: error.message }),
  )
})
process.once('disconnect', () => process.exit())
await pool.query('select 1')
process.send?.('ready')
