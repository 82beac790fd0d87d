/**
 * What a handle must be like before records are trusted to it.
 *
 * @module
 */

import { STORE_UNAVAILABLE, STORE_UNSAFE } from '../../core/error-table.ts'
import { isRepriseError, RepriseError } from '../../core/errors.ts'
import { type SqliteDatabase, transactionState } from './client.ts'
import type { Connection } from './connection.ts'
import type { SqliteSettings } from './options.ts'
import type { Patience } from './patience.ts'
import { VERSION } from './queries.ts'

/** How long one attempt may block the thread, in milliseconds: a few commits of another process. */
const BUSY_TIMEOUT_MS = 5
/** The first version with `unixepoch('subsec')`. */
const VERSION_MIN = '3.42.0'
/** The numbers by which SQLite knows the levels of `synchronous`. */
const SYNCHRONOUS = { wal: 2, delete: 3 } as const

const REMEDY = `Use SQLite 3.51.3 or later, or journal: 'delete'`
const SILENT =
  'The client does not say whether a transaction is open; with node:sqlite, use Node 22.16 or later'

/**
 * Whether commits survive when two connections write and checkpoint in WAL mode at once. Before
 * 3.51.3 they could be lost; 3.50.7 and 3.44.6 have the correction too.
 */
export function hasWalResetFix(version: string): boolean {
  const [, minor] = numbersOf(version)
  if (minor === 44) return isAtLeast(version, '3.44.6')
  if (minor === 50) return isAtLeast(version, '3.50.7')
  return isAtLeast(version, '3.51.3')
}

/**
 * Sets the handle so that what it acknowledges is durable, or refuses it.
 *
 * @throws RepriseError `reprise-store-unsafe`, `idempotency-store-unavailable`
 */
export async function secure(
  connection: Connection,
  settings: Pick<SqliteSettings, 'journal' | 'shared'>,
  patience: Patience,
): Promise<void> {
  const { database } = connection
  if (transactionState(database) === undefined) throw unsafe(SILENT)
  // It answers with a row, which libsql before 0.4 does not allow exec() to have.
  pragma(database, `busy_timeout = ${BUSY_TIMEOUT_MS}`)

  // All of it in attempts: even the version is not told while another connection changes the schema.
  const work = () => {
    connection.assertFree()
    harden(database, { ...settings, isAlone: mustBeAlone(database, settings) })
  }
  try {
    await connection.inTurn(patience, () => patience.attempt(work))
  } catch (cause) {
    if (settings.journal !== 'wal' || !isRepriseError(cause) || !cause.retryable) throw cause
    const detail = `The file stayed locked. Where SQLite lacks the correction of 3.51.3, one connection keeps a file in WAL mode for itself. ${REMEDY}`
    throw new RepriseError(STORE_UNAVAILABLE, detail, { cause })
  }
}

/** Whether the file is only safe with one connection. */
function mustBeAlone(
  database: SqliteDatabase,
  { journal, shared }: Pick<SqliteSettings, 'journal' | 'shared'>,
): boolean {
  // The query selects just this column.
  const { version } = database.prepare(VERSION).get() as { readonly version: string }
  if (!isAtLeast(version, VERSION_MIN)) {
    throw unsafe(`SQLite is ${version}; use ${VERSION_MIN} or later`)
  }
  if (journal !== 'wal' || hasWalResetFix(version) || isInMemory(database)) return false
  if (!shared) return true
  throw unsafe(
    `SQLite ${version} can lose commits when connections share a file in WAL mode. ${REMEDY}`,
  )
}

function harden(
  database: SqliteDatabase,
  { journal, isAlone }: { journal: SqliteSettings['journal']; isAlone: boolean },
): void {
  if (isInMemory(database)) return
  if (isAlone) pragma(database, 'locking_mode = exclusive')
  const mode = pragma(database, `journal_mode = ${journal}`)
  if (mode !== journal) {
    throw unsafe(`SQLite keeps journal_mode ${String(mode)} where ${journal} was asked for`)
  }
  // Set in any case: a level that was not set is a default, and builds may lower it in WAL mode.
  const level = Math.max(Number(pragma(database, 'synchronous')), SYNCHRONOUS[journal])
  database.exec(`pragma synchronous = ${level}`)
  // Only macOS knows a difference: there a plain flush stops at the drive's own memory.
  database.exec('pragma fullfsync = on')
  // The lock is taken with the first access and then kept until the handle is closed.
  if (isAlone) database.exec('begin immediate; commit')
}

/** Whether there is no file, so that nothing outlives the handle and nobody else can open it. */
function isInMemory(database: SqliteDatabase): boolean {
  // The pragma answers with just these columns, among others.
  const rows = database.prepare('pragma database_list').all() as { name: string; file: string }[]
  return rows.find(({ name }) => name === 'main')?.file === ''
}

/** Sets or reads a setting; answers what it is now. */
function pragma(database: SqliteDatabase, setting: string): unknown {
  const row = database.prepare(`pragma ${setting}`).get()
  return Object.values(row ?? {})[0]
}

function unsafe(detail: string): RepriseError {
  return new RepriseError(STORE_UNSAFE, detail)
}

function isAtLeast(version: string, least: string): boolean {
  const wanted = numbersOf(least)
  for (const [index, number] of numbersOf(version).entries()) {
    const other = wanted[index] ?? 0
    if (number !== other) return number > other
  }
  return true
}

function numbersOf(version: string): readonly number[] {
  return version.split('.').map(Number)
}
