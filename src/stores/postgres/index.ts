/**
 * Records in PostgreSQL, through `pg`, postgres.js or PGlite.
 *
 * @module
 */

import type { Store } from '../../engine/store.ts'
import { type AnyClient, clientOf } from './clients/client-of.ts'
import { openedBy } from './clients/opened-by.ts'
import type { PgPool, PgPoolClient } from './clients/pg.ts'
import type { PgliteDatabase, PgliteTransaction } from './clients/pglite.ts'
import type { PostgresJsQueries, PostgresJsSql } from './clients/postgres-js.ts'
import { migrate } from './migrate.ts'
import {
  type PostgresStoreOptions,
  type PostgresTransactionOptions,
  resolveOptions,
} from './options.ts'
import { PostgresStore } from './store.ts'

export type { AppAccess } from './access/app-access.ts'
export type { Value } from './client.ts'
export type { AnyClient } from './clients/client-of.ts'
export type { Row, TransactionSource } from './handles/source.ts'
export type { PostgresStoreOptions, PostgresTransactionOptions } from './options.ts'

/**
 * A store in the user's PostgreSQL.
 *
 * @param client - a `Pool` of pg (with `pipeline: true` transaction mode takes three round trips, two
 * less than without), an `sql` of postgres.js, or a PGlite; it stays the user's to close
 *
 * @example
 * ```ts
 * const store = postgresStore(new Pool({ connectionString, pipeline: true }))
 * ```
 */
export function postgresStore<Tx>(
  client: AnyClient,
  options: PostgresTransactionOptions<Tx>,
): Store<Tx>
export function postgresStore<Connection extends PgPoolClient>(
  client: PgPool<Connection>,
  options?: PostgresStoreOptions,
): Store<Connection>
export function postgresStore<
  Reserved extends PostgresJsQueries,
  Transaction extends PostgresJsQueries,
>(
  client: PostgresJsSql<Reserved, Transaction>,
  options?: PostgresStoreOptions,
): Store<Reserved | Transaction>
export function postgresStore<Transaction extends PgliteTransaction>(
  client: PgliteDatabase<Transaction>,
  options?: PostgresStoreOptions,
): Store<Transaction>
export function postgresStore(
  client: AnyClient,
  options?: PostgresStoreOptions & Partial<PostgresTransactionOptions<unknown>>,
): Store<unknown> {
  const settings = resolveOptions(options)
  const driver = clientOf(client, settings.prepare)
  const source = options?.transactions
  return new PostgresStore(source ? openedBy(driver, source) : driver, settings, driver)
}

/**
 * Brings the schema up to date, for deployments that do so apart from the app (`migrate: false`).
 * Safe to run from many nodes at once.
 *
 * @throws RepriseError `reprise-schema-newer` when the schema can not be used by this version.
 */
export async function migratePostgres(
  client: AnyClient,
  options?: Pick<PostgresStoreOptions, 'schema'>,
): Promise<void> {
  const { schema, prepare } = resolveOptions(options)
  await migrate(clientOf(client, prepare), schema)
}
