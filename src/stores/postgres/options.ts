import { checkFunctions, checkNames, type Names } from '../../core/known-options.ts'
import { invalid } from '../../core/options.ts'
import { type Clock, systemClock } from '../../engine/clock.ts'
import type { TransactionSource } from './handles/source.ts'

/** Settings of `postgresStore`. */
export interface PostgresStoreOptions {
  /**
   * Schema that holds the tables and functions. Made by the first migration. At most 63 bytes, and
   * without quotes, `$`, backslashes and control characters.
   *
   * @default 'reprise'
   */
  readonly schema?: string
  /**
   * Whether `ready` brings the schema up to date. When off, it only checks, and `migratePostgres` is
   * yours to call at deploy time.
   *
   * @default true
   */
  readonly migrate?: boolean
  /**
   * Whether statements are prepared once per connection. Turn it off behind a transaction pooler
   * that does not carry prepared statements over, such as PgBouncer before 1.21.
   *
   * @default true
   */
  readonly prepare?: boolean
  /**
   * Whether waiting requests are woken by `LISTEN`, on one connection that is held only while
   * somebody waits. Turn it off behind a transaction pooler: waiting requests then poll, as they do
   * on a pool of one connection.
   *
   * @default true
   */
  readonly listen?: boolean
  /**
   * Time for reconnecting and for letting the listening connection go.
   *
   * @default the process's monotonic clock
   */
  readonly clock?: Clock
}

/** The same for an app whose transactions are those of an ORM. */
export interface PostgresTransactionOptions<Tx> extends PostgresStoreOptions {
  /**
   * Where the transactions come from in which handlers and phases run, such as
   * `kyselyTransactions(db)`; `tx` is what they give. It has to reach the database of the client.
   *
   * @default the client itself
   */
  readonly transactions: TransactionSource<Tx>
}

/** The options with every default in place. */
export type PostgresSettings = Required<PostgresStoreOptions>

/** Longer names are cut by PostgreSQL, and two schemas could become one. */
const SCHEMA_BYTES_MAX = 63

/** Names that need no escaping but double quotes around them, wherever they stand in the SQL. */
const SCHEMA_PATTERN = /^[^\p{Cc}"'$\\]+$/u

const OPTIONS: Names<PostgresTransactionOptions<unknown>> = {
  schema: true,
  migrate: true,
  prepare: true,
  listen: true,
  clock: true,
  transactions: true,
}

/**
 * Fills in defaults.
 *
 * @throws RepriseError `reprise-options-invalid` when the schema's name can not be used.
 */
export function resolveOptions(
  options: PostgresStoreOptions & { readonly transactions?: unknown } = {},
): PostgresSettings {
  checkNames('postgresStore()', options, OPTIONS)
  const { transactions } = options
  if (transactions !== undefined) {
    checkFunctions(
      transactions,
      ['transaction', 'query'],
      'transactions must be what drizzleTransactions(db), kyselyTransactions(db) or another of them gives',
    )
  }
  const { schema = 'reprise', migrate = true, prepare = true, listen = true } = options
  const isReserved = schema.startsWith('pg_') || schema === 'information_schema'
  if (!SCHEMA_PATTERN.test(schema) || isReserved || Buffer.byteLength(schema) > SCHEMA_BYTES_MAX) {
    throw invalid(
      'schema must be a name of 1 to 63 bytes without quotes, $, backslashes and control characters, and none of PostgreSQL itself',
    )
  }
  return { schema, migrate, prepare, listen, clock: options.clock ?? systemClock }
}
