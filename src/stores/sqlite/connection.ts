/**
 * A handle of the user's, shared by every store on it.
 *
 * A handle has one transaction at a time, so who writes takes turns; a transaction of the user's
 * handler keeps its turn while the handler awaits, and nothing else of the store's lands inside it.
 *
 * @module
 */

import { Watchers } from '../watchers.ts'
import { isLocked, type SqliteDatabase, transactionState } from './client.ts'
import { realHandle } from './guarded-handle.ts'
import type { Patience } from './patience.ts'
import type { Queries } from './queries.ts'
import { Table } from './table.ts'
import { Turns } from './turns.ts'

const connections = new WeakMap<SqliteDatabase, Connection>()

/** Looks like SQLite's own error, because waiting helps in the same way. */
class HandleInUse extends Error {
  readonly code = 'SQLITE_BUSY'
}

/** An identity whose transaction is open. */
export interface Reservation {
  readonly fingerprint: string
  /** By the process's clock. */
  readonly since: number
}

/** See the module's comment. */
export class Connection {
  readonly database: SqliteDatabase
  readonly turns: Turns = new Turns()
  readonly watchers: Watchers = new Watchers()
  /** Names of the savepoints that are open, the outermost first. */
  readonly savepoints: string[] = []
  /** By name: the one that is open, or about to open, or `undefined` when it did not. */
  readonly reservations: Map<string, Promise<Reservation | undefined>> = new Map()
  readonly #tables = new Map<string, Table>()

  private constructor(database: SqliteDatabase) {
    this.database = database
  }

  /** The one connection of a handle, or of the handle that a handler's `tx` stands in for. */
  static of(tx: SqliteDatabase): Connection {
    const database = realHandle(tx)
    const known = connections.get(database)
    if (known !== undefined) return known
    const connection = new Connection(database)
    connections.set(database, connection)
    return connection
  }

  table(queries: Queries): Table {
    const table = this.#tables.get(queries.prefix) ?? new Table(this.database, queries)
    this.#tables.set(queries.prefix, table)
    return table
  }

  get isInTransaction(): boolean {
    return transactionState(this.database) ?? false
  }

  /** Reads what is committed, if that can be had at once. */
  peek<T>(work: () => T): T | undefined {
    if (this.isInTransaction) return undefined
    try {
      return work()
    } catch (error) {
      if (isLocked(error)) return undefined
      throw error
    }
  }

  /** Reads what is committed. Does not wait for a writer that itself waits for another process. */
  async read<T>(patience: Patience, work: () => T): Promise<T> {
    const attempt = () =>
      patience.attempt(() => {
        this.assertFree()
        return work()
      })
    return this.isInTransaction ? this.inTurn(patience, attempt) : attempt()
  }

  /** Does `work` in a write transaction: all of it is committed, or it throws. */
  async write<T>(patience: Patience, work: () => T): Promise<T> {
    return this.inTurn(patience, () =>
      patience.attempt(() => {
        this.begin()
        try {
          const result = work()
          this.database.exec('commit')
          return result
        } catch (error) {
          this.rollback()
          throw error
        }
      }),
    )
  }

  /** Does `work` while nobody else of this process writes. */
  async inTurn<T>(patience: Patience, work: () => Promise<T>): Promise<T> {
    await this.turns.take(patience)
    try {
      return await work()
    } finally {
      this.turns.give()
    }
  }

  /** Begins a write transaction. */
  begin(): void {
    this.assertFree()
    // Those of an earlier transaction ended with it.
    this.savepoints.length = 0
    this.database.exec('begin immediate')
  }

  /** Ends the transaction, if one is open, in whatever state. Never throws. */
  rollback(): void {
    try {
      if (this.isInTransaction) this.database.exec('rollback')
    } catch {
      // Where even this fails, the handle stays in the transaction and refuses all else: it is safe.
    }
  }

  /** Throws while a transaction is open, for instance one that the user began on the handle. */
  assertFree(): void {
    if (this.isInTransaction) throw new HandleInUse('A transaction is open on the handle')
  }
}
