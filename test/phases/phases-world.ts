/** What tests of phases share: an engine on a database of their own, and ways to move time. */

import pg from 'pg'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { resolveRunOptions } from '../../src/core/options.ts'
import type { DeadLetter, Settlement } from '../../src/engine/letters.ts'
import { sealResponse } from '../../src/engine/seal.ts'
import type { Work } from '../../src/engine/work.ts'
import {
  type CapturedResponse,
  createReprise,
  type Reprise,
  type RepriseEvent,
  type RunOptions,
  type RunResult,
  type Store,
} from '../../src/index.ts'
import type { Schema } from '../../src/phases/index.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { temporaryDatabase } from '../support/postgres.ts'

/** Where phases run. */
export interface PhasesWorld {
  readonly pool: pg.Pool
  readonly store: Store<pg.PoolClient>
  readonly work: Work<pg.PoolClient>
  readonly reprise: Reprise<pg.PoolClient>
  /** What the engine told since the test began. */
  readonly events: readonly RepriseEvent[]
  /** An engine of another process: nothing is shared but the database. */
  other(options?: RunOptions): Reprise<pg.PoolClient>
  /** Has every lease lapse. */
  lapse(): Promise<void>
  /** Moves every record so far into the past. */
  age(ms: number): Promise<void>
  /** Whether each of these was done, and how often. */
  deeds(): Promise<readonly string[]>
  letters(): Promise<readonly DeadLetter[]>
  settle(letter: DeadLetter | undefined, way: Settlement['way'], answer?: Answer): Promise<boolean>
}

interface Answer {
  readonly status: number
  readonly body: string
}

const HOUR_MS = 3_600_000

/** Makes the world for a test file; every test begins with nothing. */
export function usePhases(poolMax = 6, config: pg.PoolConfig = {}): PhasesWorld {
  const pool = new pg.Pool({ max: poolMax, ...config })
  // A connection that is still being closed when the database is dropped, is cut.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const store: Store<pg.PoolClient> = postgresStore(pool)
  const { work } = store
  if (work === undefined) throw new Error('The store has no phases.')
  const events: RepriseEvent[] = []
  const onEvent = (event: RepriseEvent) => void events.push(event)
  const other = (options: RunOptions = {}) =>
    createReprise({ ...options, store, onEvent, replayCache: false })
  let drop = async () => {}
  beforeAll(async () => {
    const database = await temporaryDatabase()
    pool.options.connectionString = database.url
    drop = database.drop
    await store.ready()
    await pool.query('create table deeds (number bigserial primary key, name text not null)')
  })
  beforeEach(async () => {
    events.length = 0
    await pool.query(`truncate deeds, reprise.records, reprise.attempts, reprise.staged_jobs,
                               reprise.dead_letters, reprise.workers`)
  })
  afterAll(async () => {
    await pool.end()
    await drop()
  })
  return {
    ...{ pool, store, work, events, other, reprise: other() },
    async lapse() {
      await pool.query(`update reprise.records set lease_until = clock_timestamp()`)
    },
    async age(ms) {
      const by = `$1 * interval '1 millisecond'`
      await pool.query(
        `update reprise.records
            set created_at = created_at - ${by}, expires_at = expires_at - ${by},
                lease_until = lease_until - ${by}, tried_at = tried_at - ${by},
                left_since = left_since - ${by}`,
        [ms],
      )
      await pool.query(
        `update reprise.attempts set began_at = began_at - ${by}, made = made - ${by}`,
        [ms],
      )
      await pool.query(`update reprise.dead_letters set created_at = created_at - ${by}`, [ms])
    },
    async deeds() {
      const { rows } = await pool.query('select name from deeds order by number')
      return rows.map(({ name }) => String(name))
    },
    letters: () => work.letters.list({ limit: 100 }),
    async settle(letter, way, answer) {
      if (letter === undefined) throw new Error('There is no letter.')
      const finish = answer === undefined ? null : await finishOf(letter.id, answer)
      return work.letters.resolve(letter.letter, {
        ...{ way, finish, retentionMs: HOUR_MS, author: 'ada', note: 'Looked at the ledger.' },
      })
    },
  }
}

async function finishOf(id: string, { status, body }: Answer) {
  const options = resolveRunOptions({ bodyBytesMax: 1000 })
  const response: CapturedResponse = { status, headers: [], body: new TextEncoder().encode(body) }
  return {
    ...{
      response: await sealResponse(options, id, response),
      resource: null,
      retentionMs: HOUR_MS,
    },
  }
}

/** Does a deed in the transaction of a phase. */
export async function deed(tx: pg.PoolClient, name: string): Promise<void> {
  await tx.query('insert into deeds (name) values ($1)', [name])
}

/** Takes everything. */
export const anything: Schema<unknown> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) },
}

/** Outcome, status and body of a result, as far as it has them. */
export function seen(result: RunResult): readonly unknown[] {
  if (!('response' in result)) return [result.outcome]
  const { status, body } = result.response
  return [result.outcome, status, new TextDecoder().decode(body)]
}

/** An error as an HTTP client makes it. */
export function httpError(status: number): Error {
  return Object.assign(new Error(`The provider said ${status}.`), { status })
}

/** An error of a socket. */
export function socketError(code: string): Error {
  return new Error('fetch failed', { cause: Object.assign(new Error(code), { code }) })
}

/** A request of one caller. */
export function request(key: string) {
  return { caller: 'acct', key, input: { amount: 5 } }
}
