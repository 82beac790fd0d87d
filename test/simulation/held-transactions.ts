/**
 * Transactions whose claim goes with their first statement: those of the store on PostgreSQL, on
 * connections to the database in memory.
 *
 * @module
 */

import type { Refusal } from '../../src/engine/store.ts'
import type { OpenTransaction, TransactionRequest } from '../../src/engine/transactions.ts'
import { pgClient } from '../../src/stores/postgres/clients/pg.ts'
import { PostgresTransactions } from '../../src/stores/postgres/transactions.ts'
import type { Tables } from './database/tables.ts'
import type { SimulatedTx } from './remote-store.ts'
import { SCHEMA, SimulatedConnection, STATEMENTS } from './simulated-pg.ts'
import type { Wire } from './wire.ts'

/** Opens a transaction that is begun with its first statement. */
export type Hold = (
  request: TransactionRequest<SimulatedTx>,
) => Promise<OpenTransaction<SimulatedTx> | Refusal>

/** What opens them for one process, whose connections are used again and again. */
export function holdOn(tables: Tables, wire: Wire): Hold {
  const idle: SimulatedConnection[] = []
  const connect = () => {
    const connection: SimulatedConnection = new SimulatedConnection({
      ...{ tables, wire, free: () => void idle.push(connection) },
    })
    return connection
  }
  const source = {}
  return ({ join: _join, connection: _connection, ...asked }) => {
    // What the database gives unless asked for another, which the store would have to find out first.
    const request = { ...asked, isolation: asked.isolation ?? 'read committed' }
    const pool = {
      options: { pipeline: true },
      connect: async () => {
        const connection = idle.pop() ?? connect()
        connection.serve(request)
        return connection
      },
      query: () => Promise.reject(new Error('Nothing is asked outside of a transaction.')),
      on: () => {},
    }
    const transactions = new PostgresTransactions<SimulatedConnection>({
      client: { ...pgClient(pool, true), source },
      ...{ queries: STATEMENTS, schema: SCHEMA, wake: () => {} },
    })
    return transactions.begin(request)
  }
}
