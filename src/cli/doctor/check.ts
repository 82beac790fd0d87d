/**
 * What a check is.
 *
 * @module
 */

import type { AppliedMigration } from '../../stores/migration.ts'
import type { Context } from '../command.ts'
import type { Database } from '../database.ts'

/** How a check ended. Only `FAIL` changes the exit code. */
export type Level = 'ok' | 'warn' | 'FAIL'

/** What a check found. */
export interface Finding {
  readonly check: string
  readonly level: Level
  readonly text: string
  /** What to do: commands, SQL or a sentence each. */
  readonly fix?: readonly string[]
  /** Mends it without risk, for `--fix`. */
  readonly repair?: { readonly text: string; apply(): Promise<void> }
}

/** What checks look at. */
export interface Patient {
  readonly context: Context
  readonly database: Database
  readonly applied: readonly AppliedMigration[]
  /** Whether the schema is there, so that its tables can be asked. */
  readonly hasSchema: boolean
}

/** A check. */
export type Check = (patient: Patient) => Promise<readonly Finding[]>

/** A check that found nothing wrong. */
export function fine(check: string, text: string): Finding {
  return { check, level: 'ok', text }
}

/** A check that found something to look at. */
export function warn(check: string, text: string, ...fix: readonly string[]): Finding {
  return { check, level: 'warn', text, fix }
}

/** A check that found something that breaks. */
export function failed(check: string, text: string, ...fix: readonly string[]): Finding {
  return { check, level: 'FAIL', text, fix }
}
