/**
 * The migrations in the shape of the tools that bring them to the database.
 *
 * @module
 */

import {
  lockStatement,
  type StepRange,
  stepStatements,
} from '../stores/postgres/migrations/script.ts'

/** Tools that there is a shape for. */
export const EXPORT_FORMATS = [
  'sql',
  'drizzle',
  'node-pg-migrate',
  'prisma',
  'kysely',
  'knex',
] as const

/** A tool that there is a shape for. */
export type ExportFormat = (typeof EXPORT_FORMATS)[number]

/** The steps of `range` as a file for the tool. */
export function exportMigrations(format: ExportFormat, schema: string, range: StepRange): string {
  const statements = stepStatements(schema, range)
  return EXPORTERS[format]({ statements, schema, range })
}

interface Parts {
  readonly statements: readonly string[]
  readonly schema: string
  readonly range: StepRange
}

const EXPORTERS: Readonly<Record<ExportFormat, (parts: Parts) => string>> = {
  sql: (parts) =>
    [head(parts, '--'), 'begin;', `${lockStatement(parts.schema)};`, script(parts), 'commit;'].join(
      '\n\n',
    ),
  // The tools below have a transaction of their own around it.
  prisma: (parts) => [head(parts, '--'), script(parts)].join('\n\n'),
  drizzle: (parts) =>
    [head(parts, '--'), parts.statements.map(ended).join('\n--> statement-breakpoint\n')].join(
      '\n',
    ),
  'node-pg-migrate': (parts) =>
    [
      head(parts, '//'),
      'export const shorthands = undefined\n',
      `/** @param {import('node-pg-migrate').MigrationBuilder} pgm */`,
      `export const up = (pgm) => {\n  for (const statement of statements) pgm.sql(statement)\n}\n`,
      '/** Migrations of reprise only go forward. */\nexport const down = false\n',
      listed(parts),
    ].join('\n'),
  kysely: (parts) =>
    [
      head(parts, '//'),
      `import { sql } from 'kysely'\n`,
      `/** @param {import('kysely').Kysely<unknown>} db */`,
      'export async function up(db) {\n  for (const statement of statements) await sql.raw(statement).execute(db)\n}\n',
      listed(parts),
    ].join('\n'),
  knex: (parts) =>
    [
      head(parts, '//'),
      `/** @param {import('knex').Knex} knex */`,
      'export async function up(knex) {\n  for (const statement of statements) {\n    // Not as a binding: "?" is text here.\n    await knex.raw(statement.replaceAll("?", "\\\\?"))\n  }\n}\n',
      `export async function down() {\n  throw new Error('Migrations of reprise only go forward.')\n}\n`,
      listed(parts),
    ].join('\n'),
}

function head({ schema, range: { from, to } }: Parts, mark: string): string {
  return [
    `${mark} Reprise: schema ${schema}, from version ${from} to ${to}.`,
    `${mark} Made by: npx reprise migrate sql --from ${from} --to ${to}`,
  ].join('\n')
}

function script({ statements }: Parts): string {
  return statements.map(ended).join('\n\n')
}

function ended(statement: string): string {
  return `${statement};`
}

function listed({ statements }: Parts): string {
  const texts = statements.map((text) => `  ${JSON.stringify(text)},`)
  return ['const statements = [', ...texts, ']'].join('\n')
}
