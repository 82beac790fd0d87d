/**
 * The SQLite store.
 *
 * @module
 */

import { checkFunctions } from '../../core/known-options.ts'
import type { SqliteDatabase } from './client.ts'
import { resolveOptions, type SqliteStoreOptions } from './options.ts'
import { SqliteRecords, type SqliteStore } from './store.ts'

export type { SqliteDatabase, SqliteStatement, SqliteValue } from './client.ts'
export type { SqliteStoreOptions } from './options.ts'
export type { SqliteStore } from './store.ts'

/**
 * A store in an SQLite database.
 *
 * Give the store a handle of its own. In transaction mode a handler runs its statements on that
 * handle, and other requests of the app that use the same handle meanwhile would run theirs inside
 * its transaction. The handler's `tx` is a stand-in for the handle: it has the same methods, and
 * refuses every call once the handler has answered or thrown. The store itself takes turns: all stores on one handle share one queue. So an
 * operation inside of a handler has to join the handler's transaction; without that it waits for
 * the handler, which waits for it, until `busyMs` is over.
 *
 * SQLite has one writer at a time, always under serializable isolation: what is asked for in
 * `isolation` is met by that.
 *
 * @param database - a handle of `node:sqlite` (Node 22.16 or later, Bun, Deno), `bun:sqlite`,
 * better-sqlite3 or libsql. The store sets its `busy_timeout`, `journal_mode`, `synchronous` and, where WAL mode is only safe for
 * one connection, `locking_mode`; it never closes it. libsql lets go of a file some time after
 * `close()`, when its statements are garbage-collected.
 */
export function sqliteStore<Tx extends SqliteDatabase>(
  database: Tx,
  options: SqliteStoreOptions = {},
): SqliteStore<Tx> {
  checkFunctions(
    database,
    ['exec', 'prepare'],
    'sqliteStore() takes an open database, such as new Database(file)',
  )
  return new SqliteRecords(database, resolveOptions(options))
}
