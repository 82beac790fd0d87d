import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import { query } from '../../scripts/servers/postgres.ts'

/** A database of a test file's own. */
export interface TemporaryDatabase {
  readonly url: string
  /** Removes the database, with whatever is still connected to it. */
  drop(): Promise<void>
}

/** Makes an empty database on the run's server. */
export async function temporaryDatabase(): Promise<TemporaryDatabase> {
  const { url: serverUrl, databasePrefix } = inject('postgres')
  const name = `${databasePrefix}${randomBytes(6).toString('hex')}`
  await query(serverUrl, `create database ${name} template template0`)

  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    async drop() {
      await query(serverUrl, `drop database if exists ${name} with (force)`)
    },
  }
}
