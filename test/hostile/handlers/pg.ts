/**
 * The client library pg, with and without a pipeline.
 *
 * @module
 */

import pg from 'pg'
import type { Store } from '../../../src/engine/store.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { FAIL, INSERT, type PostgresKind, valuesOf } from './postgres.ts'
import { ON_A_SERVER, POSTGRES_MODES, type Statements, type Tx } from './world.ts'

/** The store gives transactions of one kind, and programs hand back what they were given. */
export function anyStore<Real>(store: Store<Real>): Store<Tx> {
  return store as unknown as Store<Tx>
}

/** What {@link Statements} are for one kind of transaction. */
interface StatementsOf<Real> {
  insert(tx: Real, row: Parameters<Statements['insert']>[1]): PromiseLike<unknown>
  fail(tx: Real): PromiseLike<unknown>
  nested?(tx: Real, work: (inner: Real) => Promise<void>): PromiseLike<unknown>
  script?(tx: Real, text: string): PromiseLike<unknown>
}

/** Statements whose transactions are of the kind that the store gives. */
export function statementsOf<Real>(statements: StatementsOf<Real>): Statements {
  return statements as unknown as Statements
}

/** The statements of a transaction of pg; what programs are given is what the store gave. */
const pgStatements: Statements = statementsOf<pg.PoolClient>({
  insert: (tx, row) => tx.query(INSERT, valuesOf(row)),
  fail: (tx) => tx.query(FAIL),
  async nested(tx, work) {
    await tx.query('savepoint inner_work')
    try {
      await work(tx)
      await tx.query('release savepoint inner_work')
    } catch (error) {
      await tx.query('rollback to savepoint inner_work')
      throw error
    }
  },
  script: (tx, text) => tx.query(text),
})

/** The kind of pg, with or without a pipeline. */
export function pgKind(name: string, pipeline: boolean): PostgresKind {
  const modes = pipeline ? [...POSTGRES_MODES, 'first-statement' as const] : POSTGRES_MODES
  return {
    name,
    abilities: { ...ON_A_SERVER, modes },
    async connect(connectionString, { pool: max }) {
      const pool = new pg.Pool({ connectionString, max, pipeline })
      pool.on('error', () => {})
      const store = anyStore(postgresStore(pool, { listen: false }))
      return { store, statements: pgStatements, end: () => pool.end() }
    },
  }
}
