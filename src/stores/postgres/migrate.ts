/**
 * Brings the schema up to date, or says that it is not. Any number of nodes may try at once: one
 * takes the lock, the others wait for it and find nothing left to do.
 *
 * @module
 */

import { SCHEMA_MISSING } from '../../core/error-table.ts'
import { isRepriseError, RepriseError } from '../../core/errors.ts'
import {
  type AppliedMigration,
  type Migration,
  type MigrationPlan,
  planMigrations,
} from '../migration.ts'
import type { Call, Client, Rows, Session, Value } from './client.ts'
import { attempt } from './faults.ts'
import { lockNumber } from './lock.ts'
import { migrations } from './migrations/index.ts'
import { bookkeeping, noteStep } from './migrations/script.ts'
import { quoted } from './queries.ts'

const LOCK = 'select pg_advisory_xact_lock($1)'

/** For this transaction only; what is not given stays as it is. */
const LIMITS = `
  select set_config('lock_timeout', coalesce($1, current_setting('lock_timeout')), true),
         set_config('statement_timeout', coalesce($2, current_setting('statement_timeout')), true)`

function duration(ms: number | undefined): string | null {
  return ms === undefined ? null : `${Math.ceil(ms)}ms`
}

/** How to execute one statement: on its own, or in the transaction that migrates. */
type Query = (call: Call) => Promise<Rows>

/** Who watches a migration, and how long it may take. */
export interface MigrateOptions {
  /**
   * How long to wait for locks, that of another migration included, in milliseconds.
   *
   * @default as the database says
   */
  readonly lockTimeoutMs?: number | undefined
  /**
   * How long one statement may take, in milliseconds.
   *
   * @default as the database says
   */
  readonly statementTimeoutMs?: number | undefined
  /** Called before each step; what it gives is called when the step is taken. */
  readonly onStep?: (step: Migration) => () => void
}

/**
 * Takes the steps that the schema lacks, all of them in one transaction.
 *
 * @throws RepriseError `reprise-schema-newer` when the schema can not be used by this version.
 */
export async function migrate(
  client: Client<unknown>,
  schema: string,
  options: MigrateOptions = {},
): Promise<void> {
  const { pending } = await planFor(schema, (call) => client.query(call))
  if (pending.length === 0) return
  const { lockTimeoutMs, statementTimeoutMs } = options
  await attempt('migrate', async () => {
    const first = call(LIMITS, [duration(lockTimeoutMs), duration(statementTimeoutMs)])
    const session = await client.begin({ first, isolation: 'read committed' })
    try {
      await session.query(call(LOCK, [lockNumber('migrate', schema)]))
      await takeSteps(session, schema, options)
      await session.commit(call('select true'))
    } catch (error) {
      await session.rollback()
      throw error
    }
  })
}

/**
 * Demands that the schema is up to date.
 *
 * @throws RepriseError `reprise-schema-missing` or `reprise-schema-newer` when it is not.
 */
export async function checkSchema(client: Client<unknown>, schema: string): Promise<void> {
  const { pending } = await planFor(schema, (call) => client.query(call))
  const [step] = pending
  if (step === undefined) return
  const detail = `The schema ${quoted(schema)} lacks step ${step.number}`
  throw new RepriseError(SCHEMA_MISSING, detail)
}

async function takeSteps(
  session: Session<unknown>,
  schema: string,
  { onStep }: MigrateOptions,
): Promise<void> {
  const at = quoted(schema)
  const query: Query = (call) => session.query(call)
  const { makeSchema, makeTable } = bookkeeping(schema)
  // Asked first, because `if not exists` needs the right to make schemas, and gives notice.
  if (!(await exists(query, 'to_regnamespace', at))) await session.script(makeSchema)
  if (!(await exists(query, 'to_regclass', `${at}.migrations`))) await session.script(makeTable)

  const { pending } = await planFor(schema, query)
  for (const step of pending) {
    const taken = onStep?.(step)
    await session.script(noteStep(schema, step))
    await session.script(step.sql)
    taken?.()
  }
}

/** The steps that the database says were taken; none where there is no schema. */
export function appliedMigrations(
  client: Client<unknown>,
  schema: string,
): Promise<readonly AppliedMigration[]> {
  return attempt('read its schema', () => readApplied(schema, (call) => client.query(call)))
}

/** What is wrong with the schema, in words for an operator; `null` where it is as this version needs it. */
export async function schemaTrouble(
  client: Client<unknown>,
  schema: string,
): Promise<string | null> {
  const applied = await appliedMigrations(client, schema)
  try {
    const { pending, warning } = planMigrations(applied, migrations(schema))
    const [step] = pending
    if (step !== undefined) return `The schema ${quoted(schema)} lacks step ${step.number}.`
    return warning === null ? null : `${warning}.`
  } catch (error) {
    if (!isRepriseError(error)) throw error
    return `${error.detail ?? error.message}; it can not go on working.`
  }
}

async function planFor(schema: string, query: Query): Promise<MigrationPlan> {
  const applied = await attempt('read its schema', () => readApplied(schema, query))
  const plan = planMigrations(applied, migrations(schema))
  if (plan.warning !== null) {
    process.emitWarning(plan.warning, { type: 'RepriseWarning', code: 'REPRISE_SCHEMA_NEWER' })
  }
  return plan
}

async function readApplied(schema: string, query: Query): Promise<readonly AppliedMigration[]> {
  const table = `${quoted(schema)}.migrations`
  if (!(await exists(query, 'to_regclass', table))) return []
  const rows = await query(call(`select number, breaking from ${table} order by number`))
  return rows.map(([number, breaking]) => ({
    number: Number(number),
    breaking: breaking === true,
  }))
}

async function exists(
  query: Query,
  look: 'to_regclass' | 'to_regnamespace',
  name: string,
): Promise<boolean> {
  const [[found] = []] = await query(call(`select ${look}($1) is not null`, [name]))
  return found === true
}

/** Statements of migrations run once and are not worth a name. */
function call(text: string, values: readonly Value[] = []): Call {
  return { statement: { name: '', text }, values }
}
