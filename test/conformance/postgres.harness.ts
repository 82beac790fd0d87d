/**
 * Stores on PostgreSQL under test, through each client library.
 *
 * @module
 */

import { PGlite, type Transaction } from '@electric-sql/pglite'
import pg from 'pg'
import postgres from 'postgres'
import type { Store } from '../../src/engine/store.ts'
import { type PostgresStoreOptions, postgresStore } from '../../src/stores/postgres/index.ts'
import { pack } from '../../src/stores/postgres/record.ts'
import type { KeptWay, TransactionHarness } from '../../src/testing/harness.ts'
import { openProxy } from '../stores/postgres-proxy.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import type { Disposable } from './describe.ts'
import { EFFECT, keepWaysOfPg } from './pg-ways.ts'

/** What a harness is made from. */
export interface Parts<Tx> {
  readonly store: Store<Tx>
  readonly peer: Store<Tx>
  readonly schema: string
  /** Executes a statement outside of any transaction under test. */
  execute(text: string, values?: readonly unknown[]): Promise<readonly object[]>
  /** Executes a statement in the transaction under test. */
  executeIn(tx: Tx, text: string): Promise<unknown>
  readonly concurrentTransactions: boolean
  /** Holds what goes to the database and comes back; see the harness. */
  readonly delay?: ((ms: number) => void) | undefined
  /** Other ways from the handle to the database; see the harness. */
  readonly keepWays?: ((tx: Tx) => Promise<readonly KeptWay[]>) | undefined
  /**
   * Begins a nested part of the transaction with the library's own means, adds an effect in it,
   * and leaves it open.
   *
   * @default a savepoint
   */
  readonly leaveNested?: ((tx: Tx) => Promise<void>) | undefined
  /** Runs `work` in a transaction of the app's own; see the harness. */
  readonly inOwnTransaction?: ((work: (tx: Tx) => Promise<void>) => Promise<void>) | undefined
  end(): Promise<void>
}

/** A harness, with its end. */
export type Harness<Tx> = TransactionHarness<Tx> & Disposable

/** How the harness is to be made. */
export interface HarnessOptions extends PostgresStoreOptions {
  /** Settings of pg's pool. */
  readonly pool?: pg.PoolConfig
  /** Isolation level of the database unless a transaction says otherwise. */
  readonly defaultIsolation?: string
}

/** A store over `pg`. */
export async function pgHarness(options: HarnessOptions = {}): Promise<Harness<pg.PoolClient>> {
  const { url, drop } = await database(options)
  const { pool, defaultIsolation: _, ...own } = options
  const proxy = await openProxy(url)
  const [one, two] = [poolOf(proxy.url, pool), poolOf(url, pool)]
  return harnessOf({
    ...{ store: postgresStore(one, own), peer: postgresStore(two, own) },
    ...{ schema: options.schema ?? 'reprise', concurrentTransactions: true },
    execute: async (text, values = []) => (await one.query(text, [...values])).rows,
    executeIn: (tx, text) => tx.query(text),
    delay: proxy.delay,
    keepWays: keepWaysOfPg,
    async inOwnTransaction(work) {
      const connection = await one.connect()
      await connection.query('begin')
      await work(connection)
      await connection.query('commit')
      connection.release()
    },
    async end() {
      await Promise.all([one.end(), two.end()])
      await proxy.close()
      await drop()
    },
  })
}

/** A pool that survives the end of its connections. */
export function poolOf(url: string, settings: pg.PoolConfig = {}): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max: 20, ...settings })
  // The pool has ended a moment before its connections have, and the database goes in between.
  pool.on('error', () => {})
  return pool
}

type SqlTx = postgres.ReservedSql | postgres.TransactionSql

/** A store over postgres.js. */
export async function postgresJsHarness(options: HarnessOptions = {}): Promise<Harness<SqlTx>> {
  const { url, drop } = await database(options)
  const proxy = await openProxy(url)
  const one = postgres(proxy.url, { max: 20, transform: postgres.camel })
  const two = postgres(url, { max: 20 })
  return harnessOf<SqlTx>({
    ...{ store: postgresStore(one, options), peer: postgresStore(two, options) },
    ...{ schema: options.schema ?? 'reprise', concurrentTransactions: true },
    execute: (text, values = []) => two.unsafe(text, values as string[]),
    executeIn: (tx, text) => tx.unsafe(text),
    delay: proxy.delay,
    keepWays: keepWaysOfSql,
    leaveNested: (tx) =>
      new Promise((resolve, reject) => {
        if (!('savepoint' in tx)) return reject(new Error('A transaction has savepoints.'))
        const left = tx.savepoint(async (inner) => {
          await inner.unsafe(EFFECT)
          resolve()
          await new Promise(() => {})
        })
        left.catch(reject)
      }),
    async inOwnTransaction(work) {
      await one.begin((tx) => work(tx))
    },
    async end() {
      await Promise.all([one.end(), two.end()])
      await proxy.close()
      await drop()
    },
  })
}

/** What a handler may keep of a transaction of postgres.js, and use later. */
async function keepWaysOfSql(tx: SqlTx): Promise<readonly KeptWay[]> {
  const made = tx.unsafe(EFFECT)
  const template = tx`insert into effects default values`
  const fragment = tx`default values`
  const { unsafe } = tx
  const ways: Readonly<Record<string, () => PromiseLike<unknown>>> = {
    'a query that was made before': () => made,
    'a template that was made before': () => template,
    'a fragment': () => tx`insert into effects ${fragment}`,
    'a function that was taken from it': () => unsafe(EFFECT),
    execute: () => tx.unsafe(EFFECT).execute(),
    forEach: () => tx.unsafe(`${EFFECT} returning id`).forEach(() => {}),
    cursor: () => tx.unsafe(`${EFFECT} returning id`).cursor(() => {}),
    'an iterated cursor': async () => {
      for await (const rows of tx.unsafe(`${EFFECT} returning id`).cursor()) void rows
    },
    savepoint: async () =>
      'savepoint' in tx ? tx.savepoint((inner) => inner.unsafe(EFFECT)) : tx.unsafe(EFFECT),
  }
  return Object.entries(ways).map(([name, late]) => ({ name, addEffect: async () => late() }))
}

/** A store over PGlite. */
export async function pgliteHarness(options: HarnessOptions = {}): Promise<Harness<Transaction>> {
  const db = await PGlite.create()
  return harnessOf({
    ...{ store: postgresStore(db, options), peer: postgresStore(db, options) },
    ...{ schema: options.schema ?? 'reprise', concurrentTransactions: false },
    execute: async (text, values = []) => (await db.query<object>(text, [...values])).rows,
    executeIn: (tx, text) => tx.query(text),
    async keepWays(tx) {
      const { query } = tx
      return [
        { name: 'query', addEffect: () => tx.query(EFFECT) },
        { name: 'a function that was taken from it', addEffect: () => query(EFFECT) },
        { name: 'exec', addEffect: () => tx.exec(EFFECT) },
        { name: 'sql', addEffect: () => tx.sql`insert into effects default values` },
      ]
    },
    inOwnTransaction: (work) => db.transaction((tx) => work(tx)),
    end: () => db.close(),
  })
}

async function database({
  defaultIsolation,
}: HarnessOptions): ReturnType<typeof temporaryDatabase> {
  const made = await temporaryDatabase()
  if (defaultIsolation === undefined) return made
  const url = new URL(made.url)
  url.searchParams.set('options', `-c default_transaction_isolation=${defaultIsolation}`)
  return { ...made, url: url.href }
}

/** Makes a harness of its parts. */
export async function harnessOf<Tx>(parts: Parts<Tx>): Promise<Harness<Tx>> {
  const { store, peer, execute, executeIn, concurrentTransactions } = parts
  await Promise.all([store.ready(), peer.ready()])
  await execute('create table effects (id integer generated always as identity primary key)')
  return {
    ...{ store, peer, concurrentTransactions },
    async advance(ms, ids) {
      await execute(shift(parts.schema), [ms, ids?.map(hex).join(',') ?? null])
    },
    async addEffect(tx) {
      await executeIn(tx, EFFECT)
    },
    ...(parts.delay && { delay: parts.delay }),
    ...(parts.keepWays && { keepWays: parts.keepWays }),
    ...(parts.inOwnTransaction && { inOwnTransaction: parts.inOwnTransaction }),
    async leaveNested(tx) {
      if (parts.leaveNested !== undefined) return parts.leaveNested(tx)
      await executeIn(tx, 'savepoint left_open')
      await executeIn(tx, EFFECT)
    },
    countEffects: async () => (await execute('select id from effects')).length,
    async failStatement(tx) {
      await executeIn(tx, 'select 1 / 0').catch(() => {})
    },
    async dispose() {
      await Promise.all([store.close(), peer.close()])
      await parts.end()
    },
  }
}

function hex(id: string): string {
  return Buffer.from(pack(id)).toString('hex')
}

/** Time can not be set on a server, so all instants go back instead. */
function shift(schema: string): string {
  const back = `$1::double precision * interval '1 millisecond'`
  return `
    update "${schema}".records
       set created_at  = created_at  - ${back},
           finished_at = finished_at - ${back},
           lease_until = lease_until - ${back},
           expires_at  = expires_at  - ${back},
           counts_until = counts_until - ${back}
     where $2::text is null or encode(id, 'hex') = any (string_to_array($2::text, ','))`
}
