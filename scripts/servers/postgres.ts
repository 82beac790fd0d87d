/**
 * A PostgreSQL server, from the first of these that there is: the one that `DATABASE_URL` names, one
 * that runs on this machine, one that is installed, the one that comes with an npm package.
 *
 * @module
 */

import { chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { freePort, type Server, startGuarded } from './guarded.ts'
import { installedPrograms, npmPrograms, unprivileged } from './postgres-programs.ts'

/** Connections that a server of ours allows: many pools at once, from several test files. */
const CONNECTIONS_MAX = 300

type Source = () => Promise<Server | undefined>

const SOURCES: Readonly<Record<string, Source>> = {
  running: runningServer,
  installed: async () => {
    const programs = await installedPrograms()
    return programs === undefined ? undefined : ownServer('installed', async () => programs)
  },
  npm: () => ownServer('from npm', npmPrograms),
}

/**
 * Finds or starts a server.
 *
 * @param env - `DATABASE_URL` names a server to use. `REPRISE_POSTGRES` names which other sources
 *   to try, in order: `running,installed,npm` unless set.
 * @throws Error when no source has a server; it says why each one has none.
 */
export async function startPostgres(env: NodeJS.ProcessEnv = process.env): Promise<Server> {
  const { DATABASE_URL: url, REPRISE_POSTGRES: order = 'running,installed,npm' } = env
  if (url) return { url, origin: 'named by DATABASE_URL', stop: async () => {} }

  const reasons: string[] = []
  for (const name of order.split(',')) {
    try {
      const server = await SOURCES[name]?.()
      if (server !== undefined) return server
      reasons.push(`${name}: none`)
    } catch (error) {
      reasons.push(`${name}: ${messageOf(error)}`)
      console.error(`PostgreSQL ${reasons.at(-1)}; trying the next source.`)
    }
  }
  throw new Error(`No PostgreSQL could be found or started. ${reasons.join('; ')}.`)
}

/** Runs one statement over a connection of its own. */
export async function query(url: string, sql: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  // A connection that breaks fails the query; without a listener it would end the process as well.
  client.on('error', () => {})
  try {
    await client.connect()
    return await client.query(sql)
  } finally {
    await client.end()
  }
}

async function runningServer(): Promise<Server | undefined> {
  const refusals: string[] = []
  for (const user of new Set(['postgres', userInfo().username])) {
    const url = `postgres://${encodeURIComponent(user)}@127.0.0.1:5432/postgres`
    try {
      if (await mayCreateDatabases(url)) {
        return { url, origin: 'running on 127.0.0.1:5432', stop: async () => {} }
      }
      refusals.push(`${user} may not create databases`)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ECONNREFUSED')
        return undefined
      refusals.push(`${user} is not let in (${messageOf(error)})`)
    }
  }
  throw new Error(refusals.join(', '))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

async function mayCreateDatabases(url: string): Promise<boolean> {
  const { rows } = await query(
    url,
    'select rolcreatedb or rolsuper as may from pg_roles where rolname = current_user',
  )
  return rows[0]?.may === true
}

async function ownServer(
  origin: string,
  findPrograms: (directory: string) => Promise<string>,
): Promise<Server> {
  const user = unprivileged()
  const directory = await mkdtemp(join(tmpdir(), 'reprise-postgres-'))
  if (user.uid !== undefined && user.gid !== undefined) await chown(directory, user.uid, user.gid)
  const programs = await findPrograms(directory).catch(async (error) => {
    await rm(directory, { recursive: true, force: true })
    throw error
  })
  const port = await freePort()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`

  const data = join(directory, 'data')
  const initdb = join(programs, 'initdb')
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    `port=${port}`,
    `max_connections=${CONNECTIONS_MAX}`,
  ].flatMap((setting) => ['-c', setting])
  const stop = await startGuarded({
    commands: [
      [initdb, '-D', data, '-A', 'trust', '-U', 'postgres', '-E', 'UTF8', '--no-locale', '-N'],
      [join(programs, 'postgres'), '-D', data, ...settings],
    ],
    directory,
    user,
    // Immediate shutdown: the data is about to be removed.
    stopSignal: 'SIGQUIT',
    probe: () => query(url, 'select 1'),
  })
  return { url, origin, stop }
}
