/**
 * Brings the schema up to date, or says that it is not. Any number of nodes may try at once: one
 * takes the lock, the others wait for it and find nothing left to do.
 *
 * @module
 */

import { SCHEMA_MISSING } from '../../core/error-table.ts'
import { RepriseError } from '../../core/errors.ts'
import { type AppliedMigration, type MigrationPlan, planMigrations } from '../migration.ts'
import type { Call, Client, Rows, Session, Value } from './client.ts'
import { attempt } from './faults.ts'
import { lockNumber } from './lock.ts'
import { migrations } from './migrations/index.ts'
import { quoted } from './queries.ts'

/** How to execute one statement: on its own, or in the transaction that migrates. */
type Query = (call: Call) => Promise<Rows>

/**
 * Takes the steps that the schema lacks.
 *
 * @throws RepriseError `reprise-schema-newer` when the schema can not be used by this version.
 */
export async function migrate(client: Client<unknown>, schema: string): Promise<void> {
  const { pending } = await planFor(schema, (call) => client.query(call))
  if (pending.length === 0) return
  await attempt('migrate', async () => {
    const first = call('select pg_advisory_xact_lock($1)', [lockNumber('migrate', schema)])
    const session = await client.begin({ first, isolation: 'read committed' })
    try {
      await takeSteps(session, schema)
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

async function takeSteps(session: Session<unknown>, schema: string): Promise<void> {
  const at = quoted(schema)
  const query: Query = (call) => session.query(call)
  // Asked first, because `if not exists` needs the right to make schemas, and gives notice.
  if (!(await exists(query, 'to_regnamespace', at))) await session.script(`create schema ${at}`)
  if (!(await exists(query, 'to_regclass', `${at}.migrations`))) {
    await session.script(`create table ${at}.migrations (
      number     integer     primary key,
      breaking   boolean     not null,
      applied_at timestamptz not null default clock_timestamp()
    )`)
  }

  const { pending } = await planFor(schema, query)
  for (const { number, breaking, sql } of pending) {
    const insert = `insert into ${at}.migrations (number, breaking) values ($1, $2)`
    await session.query(call(insert, [number, breaking]))
    await session.script(sql)
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
