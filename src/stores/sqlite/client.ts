/**
 * The bit of a synchronous SQLite client that the store needs. `DatabaseSync` of `node:sqlite`,
 * `Database` of `bun:sqlite`, better-sqlite3 and libsql all have it, so there is nothing to adapt.
 *
 * @module
 */

/** What is bound to a placeholder. */
export type SqliteValue = string | number | Uint8Array | null

/** A prepared statement. The lists are not readonly because the types of the clients are not. */
export interface SqliteStatement {
  /** The first row. Without a row, `bun:sqlite` answers `null` and the others answer `undefined`. */
  get(...values: SqliteValue[]): unknown
  all(...values: SqliteValue[]): unknown[]
  run(...values: SqliteValue[]): { readonly changes: number | bigint }
}

/** A connection to a database. */
export interface SqliteDatabase {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  /** As better-sqlite3, libsql and `bun:sqlite` name it. */
  readonly inTransaction?: boolean
  /** As `node:sqlite` names it, from Node 22.16 on. */
  readonly isTransaction?: boolean
}

/** Whether a transaction is open on the connection; `undefined` when the client does not say. */
export function transactionState(database: SqliteDatabase): boolean | undefined {
  return database.inTransaction ?? database.isTransaction
}

const CODES = {
  busy: 5,
  locked: 6,
  busySnapshot: 517,
  primaryKey: 1555,
} as const

/** Whether another connection is in the way, so that the same statement may pass later. */
export function isLocked(error: unknown): boolean {
  const code = resultCode(error)
  return code !== CODES.busySnapshot && isContention(error)
}

/** Whether another connection was in the way; here the whole transaction may have to run again. */
export function isContention(error: unknown): boolean {
  const primary = (resultCode(error) ?? 0) & 0xff
  return primary === CODES.busy || primary === CODES.locked
}

/** Whether `table` already has a row with that primary key. */
export function isDuplicate(error: unknown, table: string): boolean {
  return (
    resultCode(error) === CODES.primaryKey &&
    error instanceof Error &&
    error.message.endsWith(` ${table}.id`)
  )
}

/** The extended result code: `node:sqlite` has it as a number, the others by name. */
function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return error.errcode
  if (!('code' in error) || typeof error.code !== 'string') return undefined
  if (error.code === 'ERR_SQLITE_ERROR') return codeOfText(error.message)
  if (error.code === 'SQLITE_BUSY_SNAPSHOT') return CODES.busySnapshot
  if (error.code === 'SQLITE_CONSTRAINT_PRIMARYKEY') return CODES.primaryKey
  if (error.code.startsWith('SQLITE_BUSY')) return CODES.busy
  if (error.code.startsWith('SQLITE_LOCKED')) return CODES.locked
  return undefined
}

/** What Deno leaves out of the errors of `exec()`, by SQLite's own text. */
function codeOfText(message: string): number | undefined {
  if (message === 'database is locked') return CODES.busy
  if (message.startsWith('database table is locked')) return CODES.locked
  // SQLite says the same of other unique columns, of which the store's tables have none.
  return message.startsWith('UNIQUE constraint failed') ? CODES.primaryKey : undefined
}
