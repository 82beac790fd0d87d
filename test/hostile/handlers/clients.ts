/**
 * The client libraries that come with the repository: pg with and without a pipeline, postgres.js,
 * PGlite and libsql.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PGlite, type Transaction } from '@electric-sql/pglite'
import postgres from 'postgres'
import { postgresStore } from '../../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../../src/stores/sqlite/index.ts'
import { type Handle, loadClient } from '../../stores/sqlite-clients.ts'
import { anyStore, pgKind, statementsOf } from './pg.ts'
import {
  engineOf,
  FAIL,
  INSERT,
  type OwnDatabase,
  type PostgresKind,
  postgresSource,
  valuesOf,
} from './postgres.ts'
import { ON_A_SERVER, type StoredRow, type WorldSource } from './world.ts'

/** Names of the client libraries. */
export const CLIENTS = ['pg', 'pg-pipeline', 'postgres-js', 'pglite', 'libsql'] as const

/** The name of a client library. */
export type ClientName = (typeof CLIENTS)[number]

/** Worlds of a client library. */
export function clientSource(
  name: ClientName,
  makeDatabase: () => Promise<OwnDatabase>,
): Promise<WorldSource> {
  switch (name) {
    case 'pg':
      return postgresSource(pgKind('pg', false), makeDatabase)
    case 'pg-pipeline':
      return postgresSource(pgKind('pg-pipeline', true), makeDatabase)
    case 'postgres-js':
      return postgresSource(postgresJs, makeDatabase)
    case 'pglite':
      return pgliteSource()
    case 'libsql':
      return libsqlSource()
  }
}

const postgresJs: PostgresKind = {
  name: 'postgres-js',
  // It forbids `commit` and `rollback` on a transaction.
  abilities: { ...ON_A_SERVER, ends: false },
  async connect(url, { pool: max }) {
    const { searchParams } = new URL(url)
    const connection = { application_name: searchParams.get('application_name') ?? '' }
    const sql = postgres(url, { max, connection, onnotice: () => {} })
    const store = anyStore(postgresStore(sql, { listen: false }))
    const statements = statementsOf<postgres.TransactionSql>({
      insert: (tx, row) => tx.unsafe(INSERT, valuesOf(row)),
      fail: (tx) => tx.unsafe(FAIL),
      nested: (tx, work) => tx.savepoint((inner) => work(inner)),
    })
    return { store, statements, end: () => sql.end({ timeout: 1 }) }
  },
}

/** PGlite is in this process and has one session. */
async function pgliteSource(): Promise<WorldSource> {
  const db = await PGlite.create()
  await db.exec(`create table effects (
    key text not null, run text not null, name text not null,
    xid text not null default txid_current()::text)`)
  const store = anyStore(postgresStore(db))
  await store.ready()
  const statements = statementsOf<Transaction>({
    insert: (tx, row) => tx.query(INSERT, valuesOf(row)),
    fail: (tx) => tx.query(FAIL),
  })
  return {
    name: 'pglite',
    abilities: {
      ...{ ...ON_A_SERVER, pools: [1], latenciesMs: [0] },
      ...{ modes: ['transaction', 'transaction', 'phases'], nested: false },
      ...{ beside: false, ends: false },
    },
    async make() {
      const reprise = engineOf(store)
      return {
        ...{ statements, reprise },
        beside: (row) => db.query(INSERT, valuesOf(row)),
        async committed(keys) {
          const list = [...keys]
          const effects = await db.query<StoredRow>(
            'select key, run, name, xid from effects where key = any ($1)',
            [list],
          )
          const records = await db.query<{ key: string; xid: string }>(
            'select key, xmin::text as xid from reprise.records where key = any ($1)',
            [list],
          )
          const jobs = await db.query<{ name: string; args: string }>(
            `select j.name, j.args from reprise.staged_jobs j
               join reprise.records r on r.id = j.record_id where r.key = any ($1)`,
            [list],
          )
          return {
            rows: effects.rows,
            records: new Map(records.rows.map(({ key, xid }) => [key, xid])),
            jobs: jobs.rows.map(({ name, args }) => ({ name, run: JSON.parse(args).run })),
          }
        },
        openTransactions: async () => 0,
        close: () => reprise.close(),
      }
    },
    close: () => db.close(),
  }
}

/** One file, one handle: every transaction waits for the one before it. */
async function libsqlSource(): Promise<WorldSource> {
  const folder = mkdtempSync(join(tmpdir(), 'reprise-handlers-'))
  const client = loadClient('libsql')
  const handle = client.open(join(folder, 'app.db'))
  const store = anyStore(sqliteStore(handle, { journal: 'wal', shared: false }))
  await store.ready()
  handle.exec('create table effects (key text not null, run text not null, name text not null)')
  const insert = 'insert into effects (key, run, name) values (?, ?, ?)'
  const statements = statementsOf<Handle>({
    insert: async (tx, row) => tx.prepare(insert).run(...valuesOf(row)),
    fail: async (tx) => tx.exec('insert into effects (key) values (null)'),
    async nested(tx, work) {
      tx.exec('savepoint inner_work')
      try {
        await work(tx)
        tx.exec('release inner_work')
      } catch (error) {
        tx.exec('rollback to inner_work; release inner_work')
        throw error
      }
    },
    script: async (tx, text) => tx.exec(text),
  })
  return {
    name: 'libsql',
    abilities: {
      ...{ ...ON_A_SERVER, pools: [1], latenciesMs: [0] },
      ...{ modes: ['transaction'], stage: false, beside: false },
    },
    async make() {
      const reprise = engineOf(store)
      return {
        ...{ statements, reprise },
        beside: async () => {},
        async committed(keys) {
          const marks = keys.map(() => '?').join()
          const rows = handle
            .prepare(`select key, run, name, null as xid from effects where key in (${marks})`)
            .all(...keys)
          // The query selects just these columns.
          return { rows: rows as unknown as StoredRow[], records: new Map(), jobs: [] }
        },
        openTransactions: async () => Number(isInTransaction(handle)),
        close: () => reprise.close(),
      }
    },
    async close() {
      handle.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function isInTransaction(handle: object): boolean {
  return 'inTransaction' in handle && handle.inTransaction === true
}
