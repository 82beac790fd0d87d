/**
 * A server whose effects are rows: it adds one for each operation, in the transaction in which
 * Reprise keeps key and answer.
 *
 * @module
 */

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import express from 'express'
import pg from 'pg'
import { idempotent, txOf } from '../../src/adapters/express.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { temporaryDatabase } from '../support/postgres.ts'

/** One effect. */
export interface Effect {
  readonly id: number
  readonly key: string
  readonly op: string
}

export interface Ledger {
  readonly port: number
  /** Everything that took effect, in its order. */
  effects(): Promise<readonly Effect[]>
  close(): Promise<void>
}

export interface LedgerOptions {
  /** Called inside of each run, before its effect; what it throws is a failure of the server. */
  readonly before?: () => Promise<void> | void
  /** How long duplicates wait for the first, in milliseconds. */
  readonly waitMs?: number
  /** More routes, such as pages. */
  readonly mount?: (app: express.Express) => void
}

/** Starts a ledger on a database of its own. */
export async function startLedger({
  before = () => {},
  waitMs = 0,
  mount = () => {},
}: LedgerOptions = {}): Promise<Ledger> {
  const database = await temporaryDatabase()
  const pool = new pg.Pool({ connectionString: database.url, max: 12 })
  // The database is dropped under its connections at the end.
  pool.on('error', () => {})
  await pool.query(
    'create table effects (id serial primary key, key text not null, op text not null)',
  )
  const reprise = createReprise({ store: postgresStore(pool), waitMs })
  const app = express()
  mount(app)
  const protect = idempotent(reprise, {
    ...{ caller: () => 'acct_1', transaction: true, required: true, methods: ['POST', 'PUT'] },
  })
  const handle = async (request: express.Request, response: express.Response) => {
    await before()
    // Both kinds of body were parsed before.
    const { op, idempotency_key: field } = request.body as Record<string, string>
    const key = request.get('Idempotency-Key') ?? field
    const sql = 'insert into effects (key, op) values ($1, $2) returning id'
    const { rows } = await txOf<pg.ClientBase>(request).query(sql, [key, op])
    response.status(201).json({ id: rows[0].id, op })
  }
  // Express 5 takes care of a promise that is rejected.
  const handlers = [express.json(), express.urlencoded(), protect, handle]
  app.all('/effects', ...handlers)
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // A server that listens on a port has such an address.
    port: (server.address() as AddressInfo).port,
    async effects() {
      return (await pool.query<Effect>('select id, key, op from effects order by id')).rows
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await reprise.close()
      await pool.end()
      await database.drop()
    },
  }
}
