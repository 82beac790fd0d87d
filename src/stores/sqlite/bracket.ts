/**
 * The two ways to hold what a handler does together: a transaction of our own, or a savepoint in
 * one of the user's.
 *
 * @module
 */

import type { Connection } from './connection.ts'

/** Something that is opened, and then kept or undone as a whole. */
export interface Bracket {
  /** May throw because of others, and may then be tried again. */
  open(): void
  /** Whether all that was done since it was opened is still there. */
  readonly isOpen: boolean
  /** Writes what is written last, so that `keep` undoes it where the bracket was no longer open. */
  write(work: () => void): void
  /** May throw because of others, and may then be tried again. */
  keep(): void
  /** Never throws. */
  undo(): void
}

/** A write transaction of its own. */
export function transactionOn(connection: Connection): Bracket {
  return {
    open: () => connection.begin(),
    get isOpen() {
      return connection.isInTransaction
    },
    write: (work) => work(),
    keep: () => connection.database.exec('commit'),
    undo: () => connection.rollback(),
  }
}

let savepointsMade = 0

/**
 * A savepoint in the open transaction, with the write lock. Savepoints nest: to keep or undo an
 * outer one ends those inside it, which is why their order is written down.
 */
export function savepointOn(connection: Connection, lock: () => void): Bracket {
  const { database, savepoints } = connection
  const name = `reprise_${++savepointsMade}`
  const last = `${name}_last`
  const undoLast = () => database.exec(`rollback to ${last}; release ${last}`)
  const end = (sql: string) => {
    database.exec(sql)
    savepoints.splice(savepoints.indexOf(name))
  }
  return {
    open() {
      lock()
      database.exec(`savepoint ${name}`)
      savepoints.push(name)
    },
    get isOpen() {
      return connection.isInTransaction && savepoints.includes(name)
    },
    write(work) {
      database.exec(`savepoint ${last}`)
      try {
        work()
      } catch (error) {
        if (connection.isInTransaction) undoLast()
        throw error
      }
    },
    keep() {
      try {
        end(`release ${name}`)
      } catch (error) {
        // The user has ended the transaction and begun another one, which is not to have the record.
        undoLast()
        throw error
      }
    },
    undo() {
      if (!savepoints.includes(name)) return
      try {
        end(`rollback to ${name}; release ${name}`)
      } catch {
        // The user's transaction is gone, and the savepoint with it.
        savepoints.splice(savepoints.indexOf(name))
      }
    },
  }
}
