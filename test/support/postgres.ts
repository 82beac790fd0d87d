import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { inject } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'

/** A database of a test file's own. */
export interface TemporaryDatabase {
  readonly url: string
  /** Removes the database, with whatever is still connected to it. */
  drop(): Promise<void>
}

/**
 * Makes an empty database on the run's server.
 *
 * @param settings - what else `create database` is told, such as an encoding
 */
export async function temporaryDatabase(settings = ''): Promise<TemporaryDatabase> {
  const { url: serverUrl, databasePrefix } = inject('postgres')
  const name = `${databasePrefix}${randomBytes(6).toString('hex')}`
  await query(serverUrl, `create database ${name} template template0 ${settings}`)

  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    async drop() {
      await abandoned(serverUrl, name)
      await query(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}

/** How often is looked whether a database is still in use, 20 ms apart. */
const LOOKS_MAX = 50

/**
 * Waits until nobody is connected, for a while: a pool that has ended is still closing connections,
 * and one that is cut then would be an error that nobody listens for.
 */
async function abandoned(serverUrl: string, name: string): Promise<void> {
  const text = `select 1 from pg_stat_activity where datname = '${name}'`
  for (let look = 0; look < LOOKS_MAX; look++) {
    if ((await query(serverUrl, text)).rowCount === 0) return
    await delay(20)
  }
}
