/**
 * An ORM under test: a database of its own, an engine whose transactions are the ORM's, and a peer
 * on plain pg beside it, as another process would have it.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { afterAll, afterEach, beforeAll } from 'vitest'
import type { LeaseReprise, TransactionReprise } from '../../src/engine/reprise.ts'
import {
  type CapturedResponse,
  createReprise,
  type EventType,
  type Reprise,
  type RunRequest,
  type RunResult,
} from '../../src/index.ts'
import type { Schema } from '../../src/phases/index.ts'
import { postgresStore, type TransactionSource } from '../../src/stores/postgres/index.ts'
import { openProxy, type Proxy } from '../stores/postgres-proxy.ts'
import { type TemporaryDatabase, temporaryDatabase } from '../support/postgres.ts'

/** What a test file tells of its ORM. */
export interface Orm<Tx> {
  readonly transactions: TransactionSource<Tx>
  /** Adds a row, the ORM's own way. */
  insert(tx: Tx, name: string): PromiseLike<unknown>
  /** How many rows there are, the ORM's own way. */
  count(tx: Tx): Promise<number>
  /** Runs `work` in a nested transaction, the ORM's own way, where it has such a thing. */
  nested?(tx: Tx, work: (inner: Tx) => Promise<void>): Promise<unknown>
  /** Begins a nested transaction that somebody has to end, where the ORM has such a thing. */
  startNested?(tx: Tx): Promise<unknown>
  /**
   * Takes from `tx`, while it may be used, everything that could add a row later: builders, prepared
   * statements, sub-objects. Each adds a row by the name when it is called.
   */
  keep?(tx: Tx, name: string): Promise<Readonly<Record<string, () => PromiseLike<unknown>>>>
  /** Ends connections of its own, where it does not work on the pool of the store. */
  end?(): Promise<unknown>
}

/** Makes the ORM. */
export type MakeOrm<Tx> = (url: string, pool: pg.Pool) => Orm<Tx> | Promise<Orm<Tx>>

/** Everything that the tests of an ORM work with. */
export interface World<Tx> extends Orm<Tx> {
  readonly url: string
  readonly pool: pg.Pool
  /** What everything of this world goes through, where it was asked for. */
  readonly wire?: Proxy | undefined
  readonly reprise: LeaseReprise & TransactionReprise<Tx>
  /** The types of the events so far. */
  readonly events: readonly EventType[]
  readonly peer: Reprise<pg.PoolClient>
  /** Names of the rows that are committed. */
  names(): Promise<readonly string[]>
  /** Lets the leases of all records lapse. */
  lapse(): Promise<void>
}

const TABLES = `
  create table effects (id serial primary key, name text not null unique);
  -- Named as the store's own table, to be told apart from it.
  create table records (id integer primary key);
  -- A row with this name fails the first commit that it is part of.
  create sequence commits;
  create function fail_late() returns trigger language plpgsql as $$
  begin
    if new.name like 'late %' and nextval('commits') = 1 then
      raise exception 'too late' using errcode = '40001';
    end if;
    return null;
  end
  $$;
  create constraint trigger fail_late after insert on effects deferrable initially deferred
    for each row execute function fail_late();`

/** Makes the world before the tests of a file and takes it down after them. */
export function useWorld<Tx>(
  make: MakeOrm<Tx>,
  { delayMs }: { readonly delayMs?: number } = {},
): () => World<Tx> {
  let database: TemporaryDatabase | undefined
  let wire: Proxy | undefined
  let world: World<Tx> | undefined

  beforeAll(async () => {
    database = await temporaryDatabase()
    if (delayMs !== undefined) wire = await openProxy(database.url, delayMs)
    world = { ...(await worldOf(wire?.url ?? database.url, make)), wire }
  })
  afterEach(async () => {
    await world?.pool.query(`truncate effects, records; select setval('commits', 1, false)`)
  })
  afterAll(async () => {
    await Promise.all([world?.reprise.close(), world?.peer.close()])
    await Promise.all([world?.end?.(), world?.pool.end()])
    await wire?.close()
    await database?.drop()
  })
  return () => {
    if (world === undefined) throw new Error('The world is made before the first test.')
    return world
  }
}

async function worldOf<Tx>(url: string, make: MakeOrm<Tx>): Promise<World<Tx>> {
  const pool = new pg.Pool({ connectionString: url })
  // The pool has ended a moment before its connections have, and the database goes in between.
  pool.on('error', () => {})
  await pool.query(TABLES)
  const orm = await make(url, pool)
  const events: EventType[] = []
  return {
    ...orm,
    ...{ url, pool, events },
    reprise: createReprise({
      store: postgresStore(pool, { transactions: orm.transactions }),
      onEvent: ({ type }) => events.push(type),
      storeTimeoutMs: 10_000,
      // Whatever it is, it is some transaction.
    }) as unknown as World<Tx>['reprise'],
    peer: createReprise({ store: postgresStore(pool, { listen: false }) }),
    async names() {
      const { rows } = await pool.query('select name from effects order by name')
      return rows.map(({ name }) => name)
    },
    async lapse() {
      await pool.query(`update reprise.records set lease_until = now() - interval '1 second'
                         where status is null`)
    },
  }
}

/** A request that nobody has made before. */
export function freshRequest(): RunRequest {
  return { caller: 'anna', operation: 'POST /effects', key: randomUUID(), fingerprints: ['f'] }
}

/** An answer. */
export function answer(text: string): CapturedResponse {
  return { status: 201, headers: [], body: new TextEncoder().encode(text) }
}

/** What was answered, in words. */
export function textOf(result: RunResult): string {
  return 'response' in result ? new TextDecoder().decode(result.response.body) : result.outcome
}

/** Whatever is a name. */
export const name: Schema<string> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: String(value) }) },
}

/** Resolves for all of `parties` when the last of them has come. */
export function meeting(parties: number): () => Promise<void> {
  let come = 0
  let open = () => {}
  const all = new Promise<void>((resolve) => {
    open = resolve
  })
  return () => {
    come++
    if (come >= parties) open()
    return all
  }
}
