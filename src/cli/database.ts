/**
 * The user's PostgreSQL, through the driver that the project has installed.
 *
 * @module
 */

import type { Call, Client, Rows, Value } from '../stores/postgres/client.ts'
import { type AnyClient, clientOf } from '../stores/postgres/clients/client-of.ts'
import { resolveOptions } from '../stores/postgres/options.ts'
import type { Context } from './command.ts'
import { CliError } from './errors.ts'
import { installCommand, loadPackage } from './project.ts'
import { PING } from './queries.ts'

/** An open database. */
export interface Database {
  /** What the library's own functions take. */
  readonly source: AnyClient
  /** The same behind one interface, whatever the driver. */
  readonly client: Client<unknown>
  readonly schema: string
  /** Name of the driver. */
  readonly driver: string
  /** Where it is, without password. */
  readonly label: string
  query(text: string, values?: readonly Value[]): Promise<Rows>
  close(): Promise<void>
}

const DRIVERS = ['pg', 'postgres'] as const

/** How many connections a command holds at most: doctor listens on one and sends on another. */
const CONNECTIONS_MAX = 4

/**
 * Connects.
 *
 * @throws CliError when nothing says where, or no driver is there; the driver's own error when the
 * database can not be reached
 */
export async function openDatabase(
  context: Pick<Context, 'flags' | 'io' | 'project'>,
): Promise<Database> {
  const { flags, io, project } = context
  const { schema } = resolveOptions({ schema: flags.text('schema') ?? 'reprise' })
  const url = databaseUrl(context)
  const timeoutMs = flags.ms('connect-timeout') ?? 10_000
  const { driver, connect } = await loadDriver(project.cwd, flags.text('driver'))
  const { source, close } = connect(url, timeoutMs)
  const client = clientOf(source, false)
  const query = (text: string, values: readonly Value[] = []) =>
    client.query({ statement: { name: '', text }, values } satisfies Call)
  const database = {
    ...{ source, client, schema, driver, query, close },
    label: url === undefined ? labelOf(io.env) : maskUrl(url),
  }
  try {
    await query(PING)
  } catch (error) {
    await close().catch(() => {})
    throw error
  }
  return database
}

/** Opens the database, uses it and closes it, whatever happens. */
export async function withDatabase<T>(
  context: Pick<Context, 'flags' | 'io' | 'project'>,
  use: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDatabase(context)
  try {
    return await use(database)
  } finally {
    await database.close().catch(() => {})
  }
}

/** The URL of the database; `undefined` when the variables of libpq say where it is. */
function databaseUrl({ flags, io }: Pick<Context, 'flags' | 'io'>): string | undefined {
  const url = flags.text('database-url')
  if (url === undefined) {
    if (hasPgVariables(io.env)) return undefined
    throw new CliError('REPRISE_E_DATABASE', 'No database is configured.', {
      hint: 'Set DATABASE_URL=postgres://user:password@host:5432/name, or give --database-url.',
    })
  }
  if (/^postgres(ql)?:\/\//.test(url) && URL.canParse(url)) return url
  const { source } = flags.sourced('database-url')
  throw new CliError('REPRISE_E_CONFIG', `${source}: the database URL is no URL of PostgreSQL.`, {
    hint: 'It looks like postgres://user:password@host:5432/name; escape special characters.',
  })
}

/** Whether the variables of libpq say where the database is. */
export function hasPgVariables(env: Context['io']['env']): boolean {
  return ['PGHOST', 'PGDATABASE', 'PGSERVICE'].some((name) => (env[name] ?? '') !== '')
}

function labelOf(env: Context['io']['env']): string {
  const { PGUSER = '', PGHOST = 'localhost', PGPORT = '5432', PGDATABASE = '' } = env
  return `postgres://${PGUSER}${PGUSER && '@'}${PGHOST}:${PGPORT}/${PGDATABASE}`
}

/** A URL without its password and its parameters. */
export function maskUrl(url: string): string {
  if (!URL.canParse(url)) return '(not a URL)'
  const { protocol, username, password, host, pathname } = new URL(url)
  const secret = password === '' ? '' : ':***'
  return `${protocol}//${username}${secret}${username && '@'}${host}${pathname}`
}

interface Opened {
  readonly source: AnyClient
  close(): Promise<void>
}

interface Driver {
  readonly driver: string
  connect(url: string | undefined, timeoutMs: number): Opened
}

async function loadDriver(cwd: string, wanted: string | undefined): Promise<Driver> {
  for (const driver of wanted === undefined ? DRIVERS : [wanted]) {
    const loaded = await loadPackage(cwd, driver)
    if (loaded === undefined) continue
    return { driver, connect: driver === 'pg' ? pgConnect(loaded) : postgresConnect(loaded) }
  }
  throw new CliError(
    'REPRISE_E_DRIVER',
    `${wanted ?? 'Neither pg nor postgres'} is installed in ${cwd}.`,
    {
      hint: installCommand(cwd, wanted ?? 'pg'),
    },
  )
}

function pgConnect(loaded: unknown): Driver['connect'] {
  // The documented interface of pg; CommonJS modules have it on `default`, too.
  const { default: pg } = loaded as { default: { Pool: new (options: object) => never } }
  return (url, connectionTimeoutMillis) => {
    // What the options above make is a pool.
    const pool = new pg.Pool({
      ...(url === undefined ? {} : { connectionString: url }),
      ...{ connectionTimeoutMillis, max: CONNECTIONS_MAX, application_name: 'reprise cli' },
      allowExitOnIdle: true,
    }) as AnyClient & { on(event: 'error', listener: () => void): void; end(): Promise<void> }
    // A connection that breaks while idle; the next statement tells.
    pool.on('error', () => {})
    return { source: pool, close: () => pool.end() }
  }
}

function postgresConnect(loaded: unknown): Driver['connect'] {
  // The documented interface of postgres.js: one function.
  const { default: postgres } = loaded as {
    default: (
      url: string | undefined,
      options: object,
    ) => AnyClient & {
      end(options: { timeout: number }): Promise<void>
    }
  }
  return (url, timeoutMs) => {
    const sql = postgres(url, {
      ...{ max: CONNECTIONS_MAX, connect_timeout: Math.ceil(timeoutMs / 1000), prepare: false },
      ...{ onnotice: () => {}, connection: { application_name: 'reprise cli' } },
      // The library asks for array types on each new connection, and ends the process if that fails.
      fetch_types: false,
    })
    return { source: sql, close: () => sql.end({ timeout: 5 }) }
  }
}
