/**
 * Transactions of the database in memory: what they write waits for the commit, what they lock is
 * theirs until the end.
 *
 * @module
 */

import type { Isolation, TransactionFault } from '../../../src/engine/transactions.ts'
import type { AppRow, JobRow, Tables } from './tables.ts'

/** What the database says when it refuses. */
export class DatabaseError extends Error {
  readonly fault: TransactionFault

  constructor(fault: TransactionFault, message: string) {
    super(message)
    this.fault = fault
  }
}

/** The statement waits for a lock that this transaction has. */
export class Blocked extends Error {
  readonly session: Session

  constructor(session: Session) {
    super('The row is locked.')
    this.session = session
  }
}

/** How a transaction is opened. */
export interface SessionOptions {
  readonly isolation: Isolation
  /** How long its side may be silent before the database ends it, in milliseconds. */
  readonly idleMs: number
}

/** One open transaction. */
export class Session {
  readonly #tables: Tables
  readonly isolation: Isolation
  readonly #idleMs: number
  /** What the commit does, in order. */
  readonly writes: (() => void)[] = []
  readonly jobs: JobRow[] = []
  rows: AppRow[] = []
  /** Versions of the records that it has seen. */
  readonly seen = new Map<string, number>()
  isOver = false
  #heardAt: number
  readonly #onEnd: (() => void)[] = []

  constructor(tables: Tables, { isolation, idleMs }: SessionOptions) {
    this.#tables = tables
    this.isolation = isolation
    this.#idleMs = idleMs
    this.#heardAt = tables.elapsed()
    tables.sessions.add(this)
  }

  /** A statement has come. */
  heard(): void {
    this.endIfSilent()
    if (this.isOver) throw new DatabaseError('disconnected', 'The connection is gone.')
    this.#heardAt = this.#tables.elapsed()
  }

  /** Ends it when its side was silent for too long. */
  endIfSilent(): void {
    if (this.#tables.elapsed() - this.#heardAt >= this.#idleMs) this.end()
  }

  /** Takes a lock, unless another has it. */
  lock(name: string): boolean {
    const holder = this.#tables.locks.get(name)
    if (holder !== undefined && holder !== this) return false
    this.#tables.locks.set(name, this)
    return true
  }

  /** Does everything that was written, and ends. */
  commit(): void {
    for (const write of this.writes) write()
    const { records } = this.#tables
    const rows = this.rows.map((row) => ({ ...row, made: records.get(row.id)?.made ?? null }))
    this.#tables.rows.push(...rows)
    if (rows.length > 0) this.#tables.changed({ kind: 'rows', rows })
    this.end()
  }

  /** All that becomes of it depends on, in words. */
  inWords(): string {
    if (this.isOver) return 'over'
    const { versions, locks } = this.#tables
    const isStale = [...this.seen].some(([id, version]) => version !== (versions.get(id) ?? 0))
    const own = [...locks].flatMap(([name, session]) => (session === this ? [name] : []))
    const written = [this.rows.map(({ what, by }) => [what, by]), this.jobs.map(({ args }) => args)]
    const silentMs = this.#tables.elapsed() - this.#heardAt
    return JSON.stringify([isStale, silentMs, this.writes.length, own.sort(), written])
  }

  /** Lets go of everything; what was not committed is gone. */
  end(): void {
    if (this.isOver) return
    this.isOver = true
    this.#tables.sessions.delete(this)
    for (const [name, session] of this.#tables.locks) {
      if (session === this) this.#tables.locks.delete(name)
    }
    for (const listener of this.#onEnd.splice(0)) listener()
  }

  /** Calls `listener` at the end. */
  onEnd(listener: () => void): void {
    if (this.isOver) listener()
    else this.#onEnd.push(listener)
  }
}

/** The name of the lock on a record's row. */
export function rowLock(id: string): string {
  return `row ${id}`
}

/** Whether nobody has a lock on the row. */
export function isFree(tables: Tables, lock: string): boolean {
  return !tables.locks.has(lock)
}

/** Waits where another transaction has the row of the record. */
export function awaitRow(tables: Tables, id: string, session?: Session): void {
  const holder = tables.locks.get(rowLock(id))
  if (holder !== undefined && holder !== session) throw new Blocked(holder)
}
