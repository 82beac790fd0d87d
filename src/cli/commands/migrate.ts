/**
 * `reprise migrate up | down | status | sql`.
 *
 * @module
 */

import { type Migration, planMigrations } from '../../stores/migration.ts'
import { appliedMigrations, migrate } from '../../stores/postgres/migrate.ts'
import { migrations } from '../../stores/postgres/migrations/index.ts'
import { statementsOf, stepStatements } from '../../stores/postgres/migrations/script.ts'
import { resolveOptions } from '../../stores/postgres/options.ts'
import type { Command, Context, Flag, Result } from '../command.ts'
import { type Database, withDatabase } from '../database.ts'
import { CliError, EXIT, usage } from '../errors.ts'
import { EXPORT_FORMATS, type ExportFormat, exportMigrations } from '../export-migrations.ts'
import { DATABASE_FLAGS } from '../flag-sets.ts'
import { plural } from '../words.ts'

const DRY_RUN: Flag = { name: 'dry-run', type: 'switch', summary: 'Show what would be done' }
const SHOW_SQL: Flag = { name: 'show-sql', type: 'switch', summary: 'Show the statements' }

/** `reprise migrate up`. */
export const migrateUp: Command = {
  ...{ name: 'migrate up', summary: 'Bring the schema up to date' },
  details: [
    'All steps run in one transaction, under a lock: any number of deploys may run it at once, and a failure changes nothing.',
  ],
  flags: [
    ...DATABASE_FLAGS,
    {
      ...{ name: 'lock-timeout', type: 'duration', value: '<time>', default: '30s' },
      ...{ summary: 'Wait for locks at most', env: ['REPRISE_LOCK_TIMEOUT'] },
    },
    {
      ...{ name: 'statement-timeout', type: 'duration', value: '<time>', default: '5m' },
      ...{ summary: 'Time for one statement', env: ['REPRISE_STATEMENT_TIMEOUT'] },
    },
    ...[DRY_RUN, SHOW_SQL],
  ],
  examples: [
    ['npx reprise migrate up', 'At deploy time'],
    ['npx reprise migrate up --dry-run --show-sql', 'What it would do'],
  ],
  run: (context) =>
    withDatabase(context, async (database) => {
      if (context.flags.isOn('dry-run')) return dryRun(context, database)
      const taken = await takeSteps(context, database)
      return verified(context, database, taken)
    }),
}

interface Taken {
  readonly number: number
  readonly tookMs: number
}

async function takeSteps(
  { flags, io, out }: Context,
  database: Database,
): Promise<readonly Taken[]> {
  const { clock } = io
  const taken: Taken[] = []
  let current: Migration | undefined
  const onStep = (step: Migration) => {
    current = step
    const startedAt = clock.now()
    if (flags.isOn('show-sql')) out.note(step.sql.trim())
    return () => {
      const tookMs = Math.round(clock.now() - startedAt)
      // A step may be taken anew after a serialization failure; the last time counts.
      if (taken.every(({ number }) => number !== step.number))
        taken.push({ number: step.number, tookMs })
      out.note(`step ${step.number}  done in ${tookMs} ms`)
    }
  }
  try {
    await migrate(database.client, database.schema, {
      onStep,
      lockTimeoutMs: flags.ms('lock-timeout'),
      statementTimeoutMs: flags.ms('statement-timeout'),
    })
  } catch (error) {
    throw migrationFailure(error, current, database)
  }
  return taken
}

function migrationFailure(
  error: unknown,
  step: Migration | undefined,
  { schema }: Database,
): unknown {
  const cause: unknown = error instanceof Error ? (error.cause ?? error) : error
  if (step === undefined || !(cause instanceof Error)) return error
  const statement = failedStatement(step, cause)
  const isLock = Reflect.get(cause, 'code') === '55P03'
  return new CliError(
    'REPRISE_E_FAILED',
    `Step ${step.number} failed; nothing was applied to schema ${schema}.`,
    {
      cause,
      reason: `${statement.slice(0, 200)}${statement.length > 200 ? ' …' : ''}`,
      hint: isLock
        ? 'Another session holds a lock; try again, or raise --lock-timeout.'
        : 'Mend what PostgreSQL complains about; run it again.',
    },
  )
}

/** The statement that the server's error points into. */
function failedStatement({ sql }: Migration, error: Error): string {
  const position = Number(Reflect.get(error, 'position'))
  const before = Number.isFinite(position) ? sql.slice(0, position) : ''
  const statements = statementsOf(sql)
  return statements[Math.max(0, statementsOf(before).length - 1)] ?? ''
}

async function verified(
  { out }: Context,
  database: Database,
  taken: readonly Taken[],
): Promise<Result> {
  const { schema } = database
  const wanted = migrations(schema).at(-1)?.number ?? 0
  const applied = await appliedMigrations(database.client, schema)
  const version = applied.at(-1)?.number ?? 0
  if (version < wanted) {
    throw new CliError(
      'REPRISE_E_FAILED',
      `Schema ${schema} is at version ${version} after all, not ${wanted}.`,
      {
        hint: 'npx reprise doctor',
      },
    )
  }
  if (taken.length === 0) out.note('Nothing to do.')
  return {
    document: { schema, version, taken },
    text: `schema ${schema} at version ${version}`,
  }
}

async function dryRun({ flags }: Context, database: Database): Promise<Result> {
  const { schema } = database
  const { pending, version } = await standing(database)
  const from = version
  const to = pending.at(-1)?.number ?? version
  const sql = flags.isOn('show-sql')
    ? stepStatements(schema, { from, to }).map((text) => `${text};`)
    : []
  const says = pending.length === 0 ? 'Nothing to do' : `Would take ${stepsText(pending)}`
  return {
    document: {
      schema,
      version,
      pending: pending.map(({ number }) => number),
      isDryRun: true,
      sql,
    },
    text: [...sql, `${says}; schema ${schema} is at version ${version}.`].join('\n\n'),
  }
}

function stepsText(pending: readonly Migration[]): string {
  return `${plural(pending.length, 'step')}: ${pending.map(({ number }) => number).join(', ')}`
}

async function standing({ client, schema }: Database) {
  const applied = await appliedMigrations(client, schema)
  const known = migrations(schema)
  const { pending, warning } = planMigrations(applied, known)
  return {
    applied,
    pending,
    warning,
    version: applied.at(-1)?.number ?? 0,
    newest: known.at(-1)?.number ?? 0,
  }
}

/** `reprise migrate status`. */
export const migrateStatus: Command = {
  ...{
    name: 'migrate status',
    summary: 'Say whether the schema is up to date',
    flags: DATABASE_FLAGS,
  },
  details: [
    'Ends with 0 when it is, with 3 when steps are missing or it is newer than this version.',
  ],
  examples: [['npx reprise migrate status --json', 'For a check before a deploy']],
  run: (context) =>
    withDatabase(context, async (database) => {
      const { applied, pending, warning, version, newest } = await standing(database)
      const numbers = applied.map(({ number }) => number)
      // A step that is missing below the last one taken: somebody edited the books.
      const isDiverged = pending.some(({ number }) => number < version)
      const isCurrent = pending.length === 0
      const words = isCurrent ? 'up to date' : isDiverged ? 'diverged' : 'behind'
      const { schema } = database
      const missing = pending.map(({ number }) => number)
      return {
        exit: isCurrent ? EXIT.ok : EXIT.problems,
        document: {
          schema,
          status: words.replaceAll(' ', '_'),
          version,
          newest,
          applied: numbers,
          pending: missing,
          warning,
        },
        text: [
          `schema ${schema} at version ${version} of ${newest}: ${words}`,
          ...(isCurrent ? [] : [`lacks ${stepsText(pending)}`, 'fix: npx reprise migrate up']),
          ...(warning === null ? [] : [`warn: ${warning}`]),
        ].join('\n'),
      }
    }),
}

/** `reprise migrate sql`. */
export const migrateSql: Command = {
  ...{ name: 'migrate sql', summary: 'Print the SQL; needs no database' },
  details: ['For those whose own tool brings migrations to the database.'],
  flags: [
    ...DATABASE_FLAGS.filter(({ name }) => name === 'schema'),
    {
      ...{ name: 'from', type: 'whole', value: '<version>', default: '0' },
      summary: 'Version that the schema has',
    },
    {
      ...{ name: 'to', type: 'whole', value: '<version>' },
      summary: 'Version that it will have; the newest if not given',
    },
    {
      ...{
        name: 'format',
        type: 'choice',
        choices: EXPORT_FORMATS,
        value: '<tool>',
        default: 'sql',
      },
      summary: EXPORT_FORMATS.join(', '),
    },
  ],
  examples: [
    ['npx reprise migrate sql > reprise.sql', 'Everything, as a script for psql'],
    [
      'npx reprise migrate sql --from 3 --format drizzle',
      'What is new since version 3, for drizzle-kit',
    ],
  ],
  async run({ flags }) {
    const { schema } = resolveOptions({ schema: flags.text('schema') ?? 'reprise' })
    const newest = migrations(schema).at(-1)?.number ?? 0
    const from = flags.whole('from') ?? 0
    const to = flags.whole('to') ?? newest
    if (to > newest) throw usage(`--to ${to}: this version knows versions up to ${newest}.`)
    if (from > to)
      throw usage(`--from ${from} is behind --to ${to}.`, 'Migrations only go forward.')
    // The flag takes nothing else.
    const format = flags.text('format') as ExportFormat
    const sql = exportMigrations(format, schema, { from, to })
    return { document: { schema, from, to, format, sql }, text: sql }
  },
}

/** `reprise migrate down`, which there is not. */
export const migrateDown: Command = {
  ...{
    name: 'migrate down',
    summary: 'Refused: migrations only go forward',
    flags: DATABASE_FLAGS,
  },
  details: [
    'An older version works on a newer schema unless a step is breaking, so that a deploy is rolled back without touching the database.',
  ],
  examples: [['npx reprise migrate status', 'What to ask instead']],
  async run() {
    throw new CliError('REPRISE_E_REFUSED', 'Migrations only go forward.', {
      reason: 'Taking a step back would drop keys and answers that clients still rely on.',
      hint: 'Roll the app back and leave the schema as it is; restore a backup if you must.',
    })
  },
}
