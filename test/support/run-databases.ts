/**
 * The databases of a test run, on a server that other runs may use at the same time.
 *
 * @module
 */

import pg from 'pg'
import { query } from '../../scripts/servers/postgres.ts'

/** Drops the databases that are left over, as `isLeft` tells by their names. */
export async function dropDatabases(url: string, isLeft: (name: string) => boolean): Promise<void> {
  const { rows } = await query(url, `select datname from pg_database`)
  for (const { datname } of rows) {
    if (isLeft(datname)) await query(url, `drop database if exists ${datname} with (force)`)
  }
}

/**
 * Marks the run as alive by a connection that bears its name, for as long as its process lives. The id of
 * the process would not do: runs in two containers share a server and know nothing of each other's.
 */
export async function markAlive(url: string, databasePrefix: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, application_name: databasePrefix })
  // The server may go first, with the tests that restart it or at the end of the run.
  client.on('error', () => {})
  await client.connect()
  return client
}

/** Drops what failed or interrupted runs left behind on a server that lives on. */
export async function dropOrphans(url: string): Promise<void> {
  const { rows } = await query(url, 'select application_name from pg_stat_activity')
  const alive = new Set(rows.map(({ application_name }) => application_name))
  await dropDatabases(url, (name) => {
    const prefix = /^(reprise_test_\d+_[0-9a-f]+_)[0-9a-f]+$/.exec(name)?.[1]
    return prefix !== undefined && !alive.has(prefix)
  })
}
