/**
 * What programs run on: a database, a client library or ORM with its transactions, and an engine.
 *
 * @module
 */

import type { Reprise } from '../../../src/engine/reprise.ts'
import type { Abilities, Mode } from './program.ts'

/** A transaction, as the handler gets it: whatever the client library or ORM gives. */
export type Tx = object

/** A row that tells which statement of which run made it. */
export interface EffectRow {
  readonly key: string
  readonly run: string
  readonly name: string
}

/** How programs use a transaction of one client library or ORM. */
export interface Statements {
  /** Adds a row. */
  insert(tx: Tx, row: EffectRow): PromiseLike<unknown>
  /** Sends a statement that fails. */
  fail(tx: Tx): PromiseLike<unknown>
  /** Runs `work` in a transaction inside the transaction; it is undone if `work` rejects. */
  nested?(tx: Tx, work: (inner: Tx) => Promise<void>): PromiseLike<unknown>
  /** Sends a text without values, such as `commit`. */
  script?(tx: Tx, text: string): PromiseLike<unknown>
}

/** A row that is committed. */
export interface StoredRow extends EffectRow {
  /** The transaction that made it; `null` where the database does not tell. */
  readonly xid: string | null
}

/** What is committed for some keys. */
export interface Committed {
  readonly rows: readonly StoredRow[]
  /** The runs that staged a job, one entry for each job. */
  readonly jobs: readonly { readonly run: string; readonly name: string }[]
  /** By key: the transaction that wrote the finished record, where the database tells. */
  readonly records: ReadonlyMap<string, string>
}

/** One app on one database. */
export interface World {
  readonly statements: Statements
  readonly reprise: Reprise<Tx>
  /** Adds a row on a connection beside every transaction. */
  beside(row: EffectRow): Promise<unknown>
  committed(keys: readonly string[]): Promise<Committed>
  /** How many connections of the app are inside a transaction now. */
  openTransactions(): Promise<number>
  close(): Promise<void>
}

/** Where worlds of one client library or ORM come from. */
export interface WorldSource {
  readonly name: string
  readonly abilities: Abilities
  make(settings: WorldSettings): Promise<World>
  close(): Promise<void>
}

/** How a world is to be. */
export interface WorldSettings {
  readonly pool: number
  readonly latencyMs: number
}

/** Larger answers are not kept, and refused in transaction mode, in bytes. */
export const BODY_BYTES_MAX = 2048

/** The modes of a store on PostgreSQL; the last of them only where pg pipelines. */
export const POSTGRES_MODES: readonly Mode[] = ['transaction', 'transaction', 'phases', 'lease']

/** What every client library on a server of its own can do. */
export const ON_A_SERVER: Abilities = {
  adapters: ['run', 'run', 'fetch', 'express', 'fastify', 'koa', 'hono'],
  modes: POSTGRES_MODES,
  pools: [1, 2, 3],
  latenciesMs: [0, 1],
  ...{ nested: true, stage: true, ends: true, beside: true },
}
