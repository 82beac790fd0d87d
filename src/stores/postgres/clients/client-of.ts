import type { RepriseError } from '../../../core/errors.ts'
import { said } from '../../../core/known-options.ts'
import { invalid } from '../../../core/options.ts'
import { PG, PGLITE, POSTGRES_JS, unsupported } from '../../../core/versions.ts'
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
 * @throws RepriseError `reprise-options-invalid` for anything else,
 * `reprise-version-unsupported` for a version of it that can not work
 */
export function clientOf(source: AnyClient, prepare: boolean): Client<unknown> {
  if ((typeof source !== 'object' && typeof source !== 'function') || source === null) {
    throw unfit(source)
  }
  if ('unsafe' in source && 'begin' in source) {
    // Before, there was no way to have the bytes that the server sent.
    if (!('typed' in source)) throw unsupported(POSTGRES_JS, 'of version 2 or older')
    return postgresJsClient(source, prepare)
  }
  if ('transaction' in source && 'exec' in source) {
    if (!('listen' in source)) throw unsupported(PGLITE, '0.1 or older')
    return pgliteClient(source)
  }
  if ('connect' in source && 'totalCount' in source) {
    if (isPg7(source.options)) throw unsupported(PG, 'of version 7 or older')
    return pgClient(source, prepare)
  }
  throw unfit(source)
}

function unfit(source: unknown): RepriseError {
  const ways = 'a Pool of pg, an sql of postgres.js or a PGlite'
  return invalid(
    `postgresStore() takes ${ways}, not ${said(source)}: give postgresStore(new Pool({ connectionString }))`,
  )
}

/** Up to version 7 a pool had the class of its connections in its options. On Node 14 and later it never connects. */
function isPg7(options: object | undefined): boolean {
  return options !== undefined && 'Client' in options && !('maxUses' in options)
}
