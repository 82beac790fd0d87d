/**
 * The server's database, from the first of these that there is: the one that `DATABASE_URL` names, the
 * PostgreSQL that comes with an npm package, PGlite.
 *
 * @module
 */

import { setTimeout as delay } from 'node:timers/promises'
import { query } from '../../../scripts/servers/postgres.ts'
import type { Settings } from '../settings.ts'
import { startEmbedded } from './embedded.ts'
import { startPglite } from './pglite.ts'

/** A database that can be used. */
export interface Database {
  readonly url: string
  /**
   * Whether every connection is a session of its own. Where they share one, as behind a transaction
   * pooler, nothing may be kept on a connection between transactions.
   */
  readonly hasSessions: boolean
  /** What it is, for people. */
  readonly what: string
  /** Stops it if it is ours. */
  stop(): Promise<void>
}

/** How often a server that `DATABASE_URL` names is asked, and the pause between, in milliseconds. */
const ASKS_MAX = 20
const ASK_MS = 500

/**
 * Finds or starts the database. Whoever calls this has the lock of the data directory.
 *
 * @throws Error when there is none
 */
export async function startDatabase(settings: Settings): Promise<Database> {
  const { databaseUrl, ownDatabase, dataDirectory } = settings
  if (databaseUrl !== undefined) return named(databaseUrl)
  if (ownDatabase === 'pglite') return startPglite(dataDirectory)
  try {
    return await startEmbedded(dataDirectory)
  } catch (error) {
    if (ownDatabase === 'postgres') throw error
    console.error(`PostgreSQL from npm does not run here: ${messageOf(error)}`)
    return startPglite(dataDirectory)
  }
}

/** The server that the environment names; it may still be starting. */
export async function named(url: string): Promise<Database> {
  const { host, pathname } = new URL(url)
  let reason: unknown
  for (let asks = 0; asks < ASKS_MAX; asks++) {
    try {
      await query(url, 'select 1')
      return {
        url,
        hasSessions: true,
        what: `PostgreSQL at ${host}${pathname}`,
        stop: async () => {},
      }
    } catch (error) {
      reason = error
      if (!isPassing(error)) break
      await delay(ASK_MS)
    }
  }
  throw new Error(`The database that DATABASE_URL names can not be used: ${messageOf(reason)}`)
}

/** Whether the server may be about to come up: nobody listens yet, or it says that it starts. */
function isPassing(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return code === 'ECONNREFUSED' || code === '57P03'
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || String(error) : String(error)
}
