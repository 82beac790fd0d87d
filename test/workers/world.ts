/**
 * A database with an engine on it, for the tests of workers and sinks.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { onTestFinished } from 'vitest'
import {
  createReprise,
  type Reprise,
  type RepriseOptions,
  type TransactionReprise,
} from '../../src/engine/reprise.ts'
import type { Stage } from '../../src/engine/stage.ts'
import type { Store } from '../../src/engine/store.ts'
import { type PostgresStoreOptions, postgresStore } from '../../src/stores/postgres/index.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

export type { TemporaryDatabase } from '../support/postgres.ts'

/** Stages whatever `stage` is called for, in one transaction that commits or, if told, does not. */
export type StageAll = (
  work: (stage: Stage) => Promise<unknown>,
  end?: 'commit' | 'rollback',
) => Promise<void>

/** A node: an engine with a pool of its own. */
export interface Node {
  readonly pool: pg.Pool
  readonly store: Store<pg.PoolClient>
  readonly reprise: Reprise<pg.PoolClient>
  readonly stageAll: StageAll
}

/** A node of its own on the database; gone after the test. */
export function node(
  { url }: Pick<TemporaryDatabase, 'url'>,
  { engine = {}, ...options }: PostgresStoreOptions & { engine?: Partial<RepriseOptions> } = {},
): Node {
  const pool = new pg.Pool({ connectionString: url, max: 8 })
  // Connections that a test breaks on purpose show in the statements that were sent on them.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const store = postgresStore(pool, options)
  const { store: _, ...rest } = engine
  const reprise = createReprise<pg.PoolClient>({ ...rest, store })
  onTestFinished(async () => {
    await reprise.close()
    await pool.end()
  })
  return { pool, store, reprise, stageAll: stageAllOn(reprise) }
}

/** A node on a database of its own; both are gone after the test. */
export async function freshNode(options: Parameters<typeof node>[1] = {}) {
  const database = await temporaryDatabase()
  onTestFinished(() => database.drop())
  const made = node(database, options)
  await made.store.ready()
  return { ...made, database }
}

/** Stages through transaction mode, as an app does. */
export function stageAllOn<Tx>(reprise: TransactionReprise<Tx>): StageAll {
  return async (work, end = 'commit') => {
    const [caller, operation, key] = ['acct', 'POST /', randomUUID()]
    const request = { caller, operation, key, fingerprints: ['f'] }
    await reprise.runInTransaction(request, async (run) => {
      await work(run.stage)
      if (end === 'rollback') run.release()
      return { status: 201, headers: [], body: new Uint8Array() }
    })
  }
}

/** A staged job as it stands in the table. */
export interface JobRow {
  readonly job_id: string
  readonly name: string
  readonly attempts: number
  readonly last_error: string | null
  readonly run_at: Date | null
  readonly set_aside_at: Date | null
}

/** The staged jobs, oldest first. */
export async function jobRows({ pool }: Pick<Node, 'pool'>): Promise<readonly JobRow[]> {
  const { rows } = await pool.query<JobRow>('select * from reprise.staged_jobs order by number')
  return rows
}
