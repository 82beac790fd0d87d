/**
 * Brings the schema up to date. Any number of processes may do so at once: the write lock lets one
 * through, and the others find nothing left to do.
 *
 * @module
 */

import { SCHEMA_MISSING } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import {
  type AppliedMigration,
  type Migration,
  type MigrationPlan,
  planMigrations,
} from '../migration.ts'
import type { SqliteDatabase } from './client.ts'
import type { Connection } from './connection.ts'
import { records } from './migrations/0001-records.ts'
import { quota } from './migrations/0002-quota.ts'
import type { Patience } from './patience.ts'
import type { Queries } from './queries.ts'

/** Every step of the schema, in order. */
export function migrations(prefix: string): readonly Migration[] {
  return [records(prefix), quota(prefix)]
}

/** What the schema is compared with, and what to do about a difference. */
export interface MigrateRequest {
  readonly queries: Queries
  readonly known: readonly Migration[]
  /** Whether to take the steps that are missing, or to refuse to work without them. */
  readonly mode: 'apply' | 'demand'
}

/**
 * Takes the steps that are missing. Answers what the operator ought to know, if anything.
 *
 * @throws RepriseError `reprise-schema-newer`, `reprise-schema-missing`
 */
export async function migrate(
  connection: Connection,
  { queries, known, mode }: MigrateRequest,
  patience: Patience,
): Promise<string | null> {
  const { database } = connection
  const plan = () => planMigrations(applied(database, queries), known)

  const { pending, warning } = await connection.read(patience, plan)
  if (pending.length === 0) return warning
  if (mode === 'demand') {
    const missing = pending.map(({ number }) => number).join(', ')
    throw new RepriseError(SCHEMA_MISSING, `The schema lacks step ${missing}`)
  }

  await connection.write(patience, () => apply(database, queries, plan()))
  return warning
}

function apply(database: SqliteDatabase, queries: Queries, { pending }: MigrationPlan): void {
  database.exec(queries.createMigrations)
  for (const { number, breaking, sql } of pending) {
    database.exec(sql)
    database.prepare(queries.apply).run(number, Number(breaking))
  }
}

function applied(database: SqliteDatabase, queries: Queries): AppliedMigration[] {
  if (database.prepare(queries.hasMigrations).get() == null) return []
  // The query selects just these columns.
  const rows = database.prepare(queries.applied).all() as {
    readonly number: number | bigint
    readonly breaking: number | bigint
  }[]
  return rows.map(({ number, breaking }) => ({
    number: Number(number),
    breaking: Number(breaking) === 1,
  }))
}
