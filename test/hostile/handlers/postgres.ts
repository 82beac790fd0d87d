/**
 * Worlds on PostgreSQL: everything that client libraries and ORMs have in common.
 *
 * @module
 */

import pg from 'pg'
import { createReprise, type Reprise } from '../../../src/engine/reprise.ts'
import type { Store } from '../../../src/engine/store.ts'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { openProxy } from '../../stores/postgres-proxy.ts'
import type { Abilities } from './program.ts'
import type {
  Committed,
  EffectRow,
  Statements,
  StoredRow,
  Tx,
  World,
  WorldSettings,
  WorldSource,
} from './world.ts'

/** A database of the programs' own. */
export interface OwnDatabase {
  readonly url: string
  drop(): Promise<void>
}

/** An app's connections, as the client library or ORM makes them. */
export interface Connections {
  readonly store: Store<Tx>
  readonly statements: Statements
  end(): Promise<unknown>
}

/** What is told of a client library or ORM. */
export interface PostgresKind {
  readonly name: string
  readonly abilities: Abilities
  /** Connects to the database; `url` names the app, which its connections must tell the server. */
  connect(url: string, settings: WorldSettings): Promise<Connections>
}

/** The table of effects: a row tells which transaction made it. */
const TABLE = `
  create table if not exists effects (
    key text not null, run text not null, name text not null,
    xid text not null default txid_current()::text
  );
  create index if not exists effects_key on effects (key)`

/** The statement that adds a row. */
export const INSERT = 'insert into effects (key, run, name) values ($1, $2, $3)'

/** A statement that fails. */
export const FAIL = 'select 1 / 0'

/** The values of a row, in the order of {@link INSERT}. */
export function valuesOf({ key, run, name }: EffectRow): [string, string, string] {
  return [key, run, name]
}

/** The engine over a store; `tx` is whatever the store gives. */
export function engineOf(store: Store<Tx>): Reprise<Tx> {
  return createReprise<Tx>({ store, storeTimeoutMs: 5000, leaseMs: 20_000 })
}

/** Worlds of a client library or ORM, all on one database. */
export async function postgresSource(
  kind: PostgresKind,
  makeDatabase: () => Promise<OwnDatabase>,
): Promise<WorldSource> {
  const database = await makeDatabase()
  const observer = new pg.Pool({ connectionString: database.url, max: 4 })
  observer.on('error', () => {})
  await observer.query(TABLE)
  const migrated = postgresStore(observer)
  await migrated.ready()
  await migrated.close()
  let worlds = 0
  return {
    name: kind.name,
    abilities: kind.abilities,
    make: (settings) =>
      makeWorld(kind, { url: database.url, observer, number: ++worlds }, settings),
    async close() {
      await observer.end()
      await database.drop()
    },
  }
}

interface Ground {
  readonly url: string
  readonly observer: pg.Pool
  readonly number: number
}

async function makeWorld(
  kind: PostgresKind,
  { url, observer, number }: Ground,
  settings: WorldSettings,
): Promise<World> {
  const app = `handlers ${number}`
  const { latencyMs } = settings
  const wire = latencyMs > 0 ? await openProxy(url, latencyMs) : undefined
  const through = new URL(wire?.url ?? url)
  through.searchParams.set('application_name', app)
  const { store, statements, end } = await kind.connect(through.href, settings)
  const reprise = engineOf(store)
  await store.ready()
  return {
    ...{ statements, reprise },
    beside: (row) => observer.query(INSERT, valuesOf(row)),
    committed: (keys) => committedFor(observer, keys),
    async openTransactions() {
      const { rows } = await observer.query(OPEN, [app])
      return Number(rows[0]?.open)
    },
    async close() {
      await reprise.close()
      await end()
      await wire?.close()
    },
  }
}

const OPEN = `
  select count(*) as open from pg_stat_activity
   where application_name = $1 and datname = current_database()
     and (state like 'idle in transaction%' or state = 'active')`

/** What is committed: the rows, the jobs, and the transaction of each record. */
async function committedFor(observer: pg.Pool, keys: readonly string[]): Promise<Committed> {
  const [effects, records, jobs] = await Promise.all([
    observer.query<StoredRow>('select key, run, name, xid from effects where key = any ($1)', [
      keys,
    ]),
    observer.query('select key, xmin::text as xid from reprise.records where key = any ($1)', [
      keys,
    ]),
    observer.query(
      `select j.name, j.args from reprise.staged_jobs j
         join reprise.records r on r.id = j.record_id where r.key = any ($1)`,
      [keys],
    ),
  ])
  return {
    rows: effects.rows,
    records: new Map(records.rows.map(({ key, xid }) => [key, xid])),
    jobs: jobs.rows.map(({ name, args }) => ({ name, run: JSON.parse(args).run })),
  }
}
