import { OPTIONS_INVALID } from '../../../core/error-table.ts'
import { RepriseError } from '../../../core/errors.ts'
import type { Client } from '../client.ts'
import { type PgPool, type PgPoolClient, pgClient } from './pg.ts'
import { type PgliteDatabase, type PgliteTransaction, pgliteClient } from './pglite.ts'
import { type PostgresJsQueries, type PostgresJsSql, postgresJsClient } from './postgres-js.ts'

/** Anything that `postgresStore` takes. */
export type AnyClient =
  | PgPool<PgPoolClient>
  | PostgresJsSql<PostgresJsQueries, PostgresJsQueries>
  | PgliteDatabase<PgliteTransaction>

/**
 * Recognises the library that a client belongs to.
 *
 * @throws RepriseError `reprise-options-invalid` for anything else.
 */
export function clientOf(source: AnyClient, prepare: boolean): Client<unknown> {
  if ('unsafe' in source && 'reserve' in source) return postgresJsClient(source, prepare)
  if ('transaction' in source && 'exec' in source) return pgliteClient(source)
  if ('connect' in source && 'totalCount' in source) return pgClient(source, prepare)
  const detail = 'The client is neither a Pool of pg, nor an sql of postgres.js, nor a PGlite'
  throw new RepriseError(OPTIONS_INVALID, detail)
}
