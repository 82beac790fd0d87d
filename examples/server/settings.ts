/**
 * What the environment says. An empty variable counts as not set.
 *
 * | variable | what it says | default |
 * |---|---|---|
 * | `PORT` | port of the server; 0 for any free one | 3000, or the next free one |
 * | `HOST` | address it listens on | 127.0.0.1 |
 * | `PUBLIC_URL` | where clients reach it, for links in its answers | `http://HOST:PORT` |
 * | `DATABASE_URL` | PostgreSQL to use | a PostgreSQL of the server's own |
 * | `REPRISE_DATABASE` | which database of its own: `postgres` or `pglite` | `postgres`, else `pglite` |
 * | `REPRISE_DATA` | folder of its database, of the provider's ledger and the mailbox | `.reprise` |
 * | `REPRISE_DEMO` | `1` allows `Demo-Fault` and `/demo/…` | `1` by `npm start` |
 * | `REPRISE_WORKERS` | `0` leaves the workers to `npm run worker` | `1` |
 * | `STRIPE_API_BASE` | payment provider | the simulator |
 * | `STRIPE_API_KEY` | key for the provider | `sk_test_simulator` |
 * | `SMTP_URL` | where receipts are sent | the mailbox |
 *
 * @module
 */

import { resolve } from 'node:path'

/** The environment, read and checked. */
export interface Settings {
  /** `undefined` if no port is asked for. */
  readonly port: number | undefined
  readonly host: string
  /** Where clients reach the server, without a slash at its end; `undefined` for host and port. */
  readonly publicUrl: string | undefined
  readonly databaseUrl: string | undefined
  readonly ownDatabase: 'postgres' | 'pglite' | undefined
  /** Folder for everything the server keeps, as an absolute path. */
  readonly dataDirectory: string
  readonly isDemo: boolean
  /** Whether the server runs the workers, too. */
  readonly hasWorkers: boolean
  readonly stripeApiBase: string | undefined
  readonly stripeApiKey: string
  readonly smtpUrl: string | undefined
}

/** A key that the simulator takes like any other. */
const SIMULATOR_KEY = 'sk_test_simulator'

/**
 * Reads the environment.
 *
 * @throws Error that names the variable and what it may be
 */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const given = (name: string) => env[name]?.trim() || undefined
  return {
    port: portOf(given('PORT')),
    host: given('HOST') ?? '127.0.0.1',
    publicUrl: urlOf('PUBLIC_URL', given('PUBLIC_URL'), ['http:', 'https:'])?.replace(/\/+$/, ''),
    databaseUrl: urlOf('DATABASE_URL', given('DATABASE_URL'), ['postgres:', 'postgresql:']),
    ownDatabase: ownDatabaseOf(given('REPRISE_DATABASE')),
    dataDirectory: resolve(given('REPRISE_DATA') ?? '.reprise'),
    isDemo: given('REPRISE_DEMO') === '1',
    hasWorkers: given('REPRISE_WORKERS') !== '0',
    stripeApiBase: urlOf('STRIPE_API_BASE', given('STRIPE_API_BASE'), ['http:', 'https:']),
    stripeApiKey: given('STRIPE_API_KEY') ?? SIMULATOR_KEY,
    smtpUrl: urlOf('SMTP_URL', given('SMTP_URL'), ['smtp:', 'smtps:']),
  }
}

function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN
  if (port <= 65_535) return port
  throw new Error(`PORT is a number from 0 to 65535, not ${JSON.stringify(text)}.`)
}

function ownDatabaseOf(text: string | undefined): Settings['ownDatabase'] {
  if (text === undefined || text === 'postgres' || text === 'pglite') return text
  throw new Error(`REPRISE_DATABASE is postgres or pglite, not ${JSON.stringify(text)}.`)
}

function urlOf(
  name: string,
  text: string | undefined,
  protocols: readonly string[],
): string | undefined {
  if (text === undefined) return undefined
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url !== undefined && protocols.includes(url.protocol)) return text
  // The value may hold a password, so it is not repeated.
  throw new Error(`${name} is not a URL that begins with ${protocols.join(' or ')}//.`)
}
