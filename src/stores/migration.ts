/**
 * Numbered, forward-only migrations, the same for every SQL store.
 *
 * @module
 */

import { SCHEMA_NEWER } from '../core/error-table.ts'
import { RepriseError } from '../core/errors.ts'

/** One step of the schema. Never edited after release: a change is a new step. */
export interface Migration {
  /** 1, 2, 3 … without gaps. */
  readonly number: number
  /** Whether a version that does not know this step can no longer work on the schema. */
  readonly breaking: boolean
  /** What to execute; may hold several statements. */
  readonly sql: string
}

/** A step that the database says was taken. */
export type AppliedMigration = Pick<Migration, 'number' | 'breaking'>

/** What is left to do, and what the operator ought to know. */
export interface MigrationPlan {
  readonly pending: readonly Migration[]
  /** Set when the schema is newer than this version, yet usable. */
  readonly warning: string | null
}

/**
 * Compares the steps taken with the steps known.
 *
 * @throws RepriseError `reprise-schema-newer` when a step taken is unknown here and breaking.
 */
export function planMigrations(
  applied: readonly AppliedMigration[],
  known: readonly Migration[],
): MigrationPlan {
  const newest = known.at(-1)?.number ?? 0
  const newer = applied.filter(({ number }) => number > newest)
  const breaking = newer.find((migration) => migration.breaking)
  if (breaking !== undefined) {
    throw new RepriseError(
      SCHEMA_NEWER,
      `The schema has step ${breaking.number}, this version knows steps up to ${newest}`,
    )
  }

  const taken = new Set(applied.map(({ number }) => number))
  const pending = known.filter(({ number }) => !taken.has(number))
  const top = newer.at(-1)?.number
  const warning =
    top === undefined
      ? null
      : `The schema has step ${top}, this version knows steps up to ${newest}; it can go on working`
  return { pending, warning }
}
