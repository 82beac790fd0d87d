/**
 * The migrations as text, for those who bring them to the database themselves.
 *
 * @module
 */

import type { Migration } from '../../migration.ts'
import { lockNumber } from '../lock.ts'
import { quoted } from '../queries.ts'
import { migrations } from './index.ts'

/** What keeps the books of the steps that were taken. */
export function bookkeeping(schema: string): { makeSchema: string; makeTable: string } {
  const at = quoted(schema)
  return {
    makeSchema: `create schema ${at}`,
    makeTable: `create table ${at}.migrations (
      number     integer     primary key,
      breaking   boolean     not null,
      applied_at timestamptz not null default clock_timestamp()
    )`,
  }
}

/** The statement that says that a step was taken. */
export function noteStep(schema: string, { number, breaking }: Migration): string {
  const values = `(${number}, ${String(breaking)})`
  return `insert into ${quoted(schema)}.migrations (number, breaking) values ${values}`
}

/** Which steps. */
export interface StepRange {
  /** The step that the schema has; 0 for none. */
  readonly from: number
  /** The step that it will have. */
  readonly to: number
}

/** Every statement that leads from one step to another, without a transaction around them. */
export function stepStatements(schema: string, { from, to }: StepRange): readonly string[] {
  const { makeSchema, makeTable } = bookkeeping(schema)
  const steps = migrations(schema).filter(({ number }) => number > from && number <= to)
  return [
    ...(from === 0 ? [makeSchema, makeTable] : []),
    ...steps.flatMap((step) => [...statementsOf(step.sql), noteStep(schema, step)]),
  ]
}

/** The statement that waits for another migration of the same schema, for a transaction. */
export function lockStatement(schema: string): string {
  return `select pg_advisory_xact_lock(${lockNumber('migrate', schema)})`
}

/**
 * Takes a script of ours apart at its semicolons, except those in quotes, in bodies of functions and
 * in comments. Quotes of ours are never escaped by backslashes.
 */
export function statementsOf(script: string): readonly string[] {
  const parts = script.matchAll(/\$\$[\s\S]*?\$\$|'[^']*'|"[^"]*"|--[^\n]*|;|[^;$'"-]+|[$-]/g)
  const statements: string[] = []
  let statement = ''
  for (const [part] of parts) {
    if (part !== ';') {
      statement += part
      continue
    }
    statements.push(statement.trim())
    statement = ''
  }
  return [...statements, statement.trim()].filter((text) => text !== '')
}
