/**
 * The SQLite clients that the running Node can load. Bound to no test runner, because child
 * processes load them too.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { hasWalResetFix } from '../../src/stores/sqlite/check.ts'
import type { SqliteDatabase } from '../../src/stores/sqlite/index.ts'

/** A handle as all clients have it. */
export interface Handle extends SqliteDatabase {
  close(): unknown
}

export type ClientName = 'node:sqlite' | 'better-sqlite3' | 'libsql' | 'bun:sqlite'

/** A client that can be loaded. */
export interface Client {
  readonly name: ClientName
  open(path: string): Handle
  /** Whether its SQLite is safe for two connections in WAL mode. */
  readonly sharesWal: boolean
  /** A journal under which connections can share a file. */
  readonly sharedJournal: 'wal' | 'delete'
}

// Child processes run from a bundle elsewhere; the working directory is the same.
const require = createRequire(join(process.cwd(), 'package.json'))
const APART = join(process.cwd(), 'test/stores/better-sqlite3')
const requireApart = createRequire(join(APART, 'package.json'))

const { bun, deno } = process.versions
const isNode = bun === undefined && deno === undefined

/** Whether the running Node has node:sqlite; better-sqlite3 would crash an older one. */
export const isNode22 = isNode && Number(process.versions.node.split('.')[0]) >= 22

/**
 * Whether what runs here can load the client. better-sqlite3 is installed apart, when the tests start. It
 * and libsql are compiled for Node, and are not claimed for any other runtime.
 */
export function canLoad(name: ClientName): boolean {
  if (name === 'bun:sqlite') return bun !== undefined
  if (name === 'node:sqlite') return !isNode || isNode22
  if (name === 'libsql') return isNode
  return isNode22 && existsSync(join(APART, 'node_modules', name))
}

/** The clients that load here. */
export function clients(): readonly Client[] {
  const names: readonly ClientName[] = ['libsql', 'node:sqlite', 'better-sqlite3', 'bun:sqlite']
  return names.filter(canLoad).map(loadClient)
}

/** Loads a client. */
export function loadClient(name: ClientName): Client {
  const open = opener(name)
  const probe = open(':memory:')
  // The query selects just this column.
  const { version } = probe.prepare('select sqlite_version() as version').get() as {
    version: string
  }
  probe.close()
  const sharesWal = hasWalResetFix(version)
  return { name, open, sharesWal, sharedJournal: sharesWal ? 'wal' : 'delete' }
}

function opener(name: ClientName): (path: string) => Handle {
  if (name === 'node:sqlite') {
    // Types of this module come with those of Node 22, and this file is checked with those of 20.
    const { DatabaseSync } = process.getBuiltinModule(name) as unknown as {
      DatabaseSync: new (path: string) => Handle
    }
    return (path) => new DatabaseSync(path)
  }
  if (name === 'bun:sqlite') {
    // Only Bun has the module, and its types are not installed.
    const { Database } = require(name) as { Database: new (path: string) => Handle }
    return (path) => new Database(path)
  }
  // Both export the class itself, in CommonJS.
  const Database = (name === 'libsql' ? require : requireApart)(name) as new (
    path: string,
  ) => Handle
  return (path) => new Database(path)
}
