/**
 * What the server itself asks the database.
 *
 * @module
 */

import type { Pool } from 'pg'

/** Held while tables are made, so that nodes that start together do it one after the other. */
const SCHEMA_LOCK = 7_264_113

/** Makes the tables of the APIs. */
export async function applySchemas(pool: Pool, schemas: readonly string[]): Promise<void> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    await client.query('select pg_advisory_xact_lock($1)', [SCHEMA_LOCK])
    for (const schema of schemas) await client.query(schema)
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

/** How many rows each of the tables has, at one moment. Names come from the code, never from outside. */
export async function countRows(
  pool: Pool,
  tables: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, number>>> {
  const counts = Object.entries(tables).map(
    ([name, table]) => `(select count(*)::int from ${table}) as ${name}`,
  )
  const { rows } = await pool.query(`select ${counts.join(', ')}`)
  return rows[0]
}
