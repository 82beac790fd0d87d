/**
 * Checks of the server: version, role, clock, pooler.
 *
 * @module
 */

import { channelOf } from '../../stores/postgres/queries.ts'
import { CLOCK, LACKING, NOTIFY, ROLE, SERVER, TRY_LOCK } from '../queries.ts'
import { duration, plural } from '../words.ts'
import { type Check, type Finding, failed, fine, warn } from './check.ts'

/** The oldest version whose functions and clauses are all that the schema uses. */
const VERSION_MIN = 130_000

/** The oldest version that still gets mended. */
const VERSION_KEPT = 140_000

/** Version, standing and isolation of the server. */
export const checkServer: Check = async ({ database }) => {
  const [row = []] = await database.query(SERVER)
  const [number, name, isStandby, isReadOnly, isolation] = row
  const version = Number(number)
  return [
    version < VERSION_MIN
      ? failed('version', `PostgreSQL ${String(name)} is too old.`, 'Use PostgreSQL 14 or later.')
      : version < VERSION_KEPT
        ? warn(
            'version',
            `PostgreSQL ${String(name)} no longer gets fixes.`,
            'Use PostgreSQL 14 or later.',
          )
        : fine('version', `PostgreSQL ${String(name)}`),
    isStandby === true || isReadOnly === true
      ? failed(
          'writable',
          isStandby === true
            ? 'This is a standby; nothing can be stored.'
            : 'Transactions are read-only.',
          isStandby === true
            ? 'Give the URL of the primary.'
            : 'alter database … set default_transaction_read_only = off;',
        )
      : fine('writable', 'takes writes'),
    isolation === 'read committed'
      ? fine('isolation', 'read committed')
      : warn(
          'isolation',
          `The default is ${String(isolation)}: statements of the store are retried more often.`,
          `alter role … set default_transaction_isolation = 'read committed';`,
        ),
  ]
}

/** What is to be known of the client library; how the app sets it up is not to be seen from here. */
export const checkDriver: Check = async ({ database: { driver } }) => {
  if (driver !== 'postgres') return []
  const text =
    'postgres.js ends the process when a new connection breaks while it asks for array types.'
  return [warn('driver', text, 'postgres(url, { fetch_types: false })')]
}

/** What the role that the app runs under may do. */
export const checkPrivileges: Check = async ({ context, database, hasSchema }) => {
  const [row = []] = await database.query(SERVER)
  const role = context.flags.text('role') ?? String(row[5])
  if (!hasSchema) return []
  const known = await database.query(ROLE, [role])
  if (known.length === 0)
    return [failed('privileges', `There is no role ${role}.`, `create role …;`)]
  const lacking = (await database.query(LACKING, [database.schema, role])).map(([text]) =>
    String(text),
  )
  if (lacking.length === 0) return [fine('privileges', `${role} may do all that the store needs`)]
  const grants = lacking.map((text) => `${text};`)
  return [failed('privileges', `${role} lacks ${plural(lacking.length, 'privilege')}.`, ...grants)]
}

/** More than this is worth a word, in milliseconds. */
const SKEW_MS_MAX = 2000

/** How far the two clocks are apart. */
export const checkClock: Check = async ({ context: { io }, database }) => {
  const before = io.clock.unix()
  const [[there] = []] = await database.query(CLOCK)
  const after = io.clock.unix()
  // The database looked at its clock at some moment between the two.
  const ahead = Math.max(0, Number(there) - after)
  const behind = Math.max(0, before - Number(there))
  const skewMs = Math.max(ahead, behind)
  if (skewMs <= SKEW_MS_MAX)
    return [fine('clock', `within ${duration(SKEW_MS_MAX)} of the database's`)]
  return [
    warn(
      'clock',
      `This machine's clock is ${duration(skewMs)} ${ahead > 0 ? 'behind' : 'ahead of'} the database's. Leases go by the database; ages of keys and log lines do not.`,
      'Let both machines take their time from NTP.',
    ),
  ]
}

/** How long a notification may take, in milliseconds. */
const NOTICE_MS_MAX = 5000

/** Whether LISTEN and advisory locks work through whatever lies between. */
export const checkPooler: Check = async ({ context: { io }, database }) => {
  const findings: Finding[] = []
  const [[locked] = []] = await database.query(TRY_LOCK, [Math.floor(io.random.fraction() * 1e9)])
  findings.push(
    locked === true
      ? fine('locks', 'advisory locks of transactions work')
      : failed(
          'locks',
          'Advisory locks are not to be had.',
          'Connect to PostgreSQL itself, not to a replica or a proxy.',
        ),
  )
  const isHeard = await hearsItself(database, io)
  findings.push(
    isHeard
      ? fine('listen', 'LISTEN works: a session pooler, or none')
      : warn(
          'listen',
          'Notifications do not arrive: a transaction pooler lies between. Waiting requests poll.',
          'Set listen: false (and prepare: false before PgBouncer 1.21) in postgresStore(), or connect past the pooler.',
        ),
  )
  return findings
}

async function hearsItself(
  { client, query, schema }: Parameters<Check>[0]['database'],
  { clock, random }: Parameters<Check>[0]['context']['io'],
): Promise<boolean> {
  // A pool of one has no connection to spare for listening.
  const listen = client.listen?.bind(client)
  if (listen === undefined) return false
  const channel = channelOf(`${schema} doctor`)
  const word = random.token()
  let cancel = () => {}
  let stop = () => {}
  const heard = new Promise<boolean>((resolve) => {
    cancel = clock.after(NOTICE_MS_MAX, () => resolve(false))
    const listener = {
      channel,
      hear: (payload: string) => payload === word && resolve(true),
      lost: () => resolve(false),
    }
    listen(listener)
      .then(async (unlisten) => {
        stop = unlisten
        await query(NOTIFY, [channel, word])
      })
      .catch(() => resolve(false))
  })
  const isHeard = await heard
  cancel()
  stop()
  return isHeard
}
