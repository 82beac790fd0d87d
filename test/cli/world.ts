/**
 * What the tests of commands on a database share: a database for each file, a schema for each test.
 *
 * @module
 */

import pg from 'pg'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { recordId } from '../../src/core/identity.ts'
import { pack } from '../../src/stores/postgres/record.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'
import { cli, type Ran, type World } from './harness.ts'

/** A database with a schema that no other test has. */
export class DatabaseWorld {
  pool = new pg.Pool({ max: 1 })
  schema = ''
  #database: TemporaryDatabase | undefined
  #count = 0

  constructor() {
    beforeAll(async () => {
      this.#database = await temporaryDatabase()
      this.pool = new pg.Pool({ connectionString: this.#database.url, max: 3 })
    })
    beforeEach(() => {
      this.schema = `cli_${++this.#count}`
    })
    afterAll(async () => {
      await this.pool.end()
      await this.#database?.drop()
    })
  }

  get url(): string {
    return this.#database?.url ?? ''
  }

  /** Runs a command on this test's schema. */
  on(argv: readonly string[], world: World = {}): Promise<Ran> {
    const env = { DATABASE_URL: this.url, REPRISE_SCHEMA: this.schema, ...world.env }
    return cli(argv, { ...world, env })
  }

  up(): Promise<Ran> {
    return this.on(['migrate', 'up'])
  }

  sql(text: string, values: readonly unknown[] = []): Promise<pg.QueryResult> {
    return this.pool.query(text, [...values])
  }

  /** Puts a record into the store, as a request that stopped or ended would leave it. */
  async record({
    age,
    status,
    expired,
    key = 'k-1',
    point = 'started',
  }: {
    age: string
    status?: number
    expired?: string
    key?: string
    /** Where it stopped; `null` where a run in one piece did. */
    point?: string | null
  }): Promise<void> {
    await this.sql(
      `insert into ${this.schema}.records (created_at, expires_at, finished_at, fence, status, response, id, caller,
         operation, key, fingerprint, recovery_point)
       values (now() - $1::interval, now() + $5::interval, case when $2::smallint is null then null else now() end,
         1, $2, case when $2::smallint is null then null else '\\x00'::bytea end, $3, 'acct_1',
         'POST /charges', $4, '\\xaa', case when $2::smallint is null then $6 end)`,
      [
        age,
        status ?? null,
        idOf(`${key}${age}`, key),
        key,
        expired === undefined ? '1 day' : `-${expired}`,
        point,
      ],
    )
  }

  /** Puts a dead letter there. */
  async letter(): Promise<string> {
    const { rows } = await this.sql(
      `insert into ${this.schema}.dead_letters (created_at, buried_at, fence, tries, record_id, caller, operation, key,
         fingerprint, cause, history)
       values (now() - interval '1 hour', now(), 1, 1, $1, 'acct_1', 'POST /rides', 'k-dead', '\\xaa',
         'outcome_unknown', '[]') returning number`,
      [idOf('dead', 'k-dead')],
    )
    return String(rows[0].number)
  }
}

/** An id as the store keeps it. */
function idOf(part: string, key: string): Uint8Array {
  return pack(recordId([part], key))
}

/** What doctor says of one thing. */
export type Checked = { check: string; level: string; text: string; fix: string[] }

/** Findings by the name of their check; the worst of several. */
export function checks(document: Readonly<Record<string, unknown>>): ReadonlyMap<string, Checked> {
  const all = document['checks'] as Checked[]
  const order = ['ok', 'warn', 'FAIL']
  const sorted = [...all].sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
  return new Map(sorted.map((one) => [one.check, one]))
}
