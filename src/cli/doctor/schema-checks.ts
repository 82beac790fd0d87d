/**
 * Checks of the schema: its version, and whether it is as the migrations make it.
 *
 * @module
 */

import { planMigrations } from '../../stores/migration.ts'
import { migrate } from '../../stores/postgres/migrate.ts'
import { migrations } from '../../stores/postgres/migrations/index.ts'
import type { Database } from '../database.ts'
import { PING } from '../queries.ts'
import { plural } from '../words.ts'
import { type Check, type Finding, failed, fine, warn } from './check.ts'
import { type Drift, findDrift } from './drift.ts'

/** Whether steps are missing. */
export const checkVersion: Check = async ({ applied, database, hasSchema }) => {
  const { schema, client } = database
  const known = migrations(schema)
  const { pending, warning } = planMigrations(applied, known)
  const version = applied.at(-1)?.number ?? 0
  if (warning !== null)
    return [warn('schema', warning, 'Deploy the version of reprise that made it.')]
  if (pending.length === 0) return [fine('schema', `${schema} at version ${version}`)]
  const text = hasSchema
    ? `Schema ${schema} is at version ${version}; this version needs ${known.at(-1)?.number ?? 0}.`
    : `There is no schema ${schema} yet.`
  const repair = { text: 'migrate up', apply: () => migrate(client, schema) }
  return [{ ...failed('schema', text, 'npx reprise migrate up'), repair }]
}

/** Whether somebody changed what the migrations made. */
export const checkDrift: Check = async ({ applied, context, database, hasSchema }) => {
  if (!hasSchema) return []
  const version = applied.at(-1)?.number ?? 0
  try {
    const drifts = await findDrift(database, version, context.io.random.token())
    return driftFindings(drifts, database)
  } catch (error) {
    const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined
    if (code !== '42501' && code !== '25006') throw error
    return [
      warn(
        'drift',
        'Not compared: this role may not make a schema to compare with (it would be rolled back).',
        'Run doctor once with the role that migrates.',
      ),
    ]
  }
}

function driftFindings(drifts: readonly Drift[], database: Database): readonly Finding[] {
  if (drifts.length === 0) return [fine('drift', 'tables, indexes and functions are as made')]
  const broken = drifts.filter(({ is }) => is !== 'extra')
  const extra = drifts.filter(({ is }) => is === 'extra')
  const named = (some: readonly Drift[]) =>
    some.map(({ kind, name, is }) => `${kind} ${name} is ${is}`).join('; ')
  const findings: Finding[] = []
  if (broken.length > 0) {
    const repairs = broken.flatMap(({ repair }) => repair.map((text) => `${text};`))
    const safe = broken.filter(({ isSafe }) => isSafe)
    findings.push({
      ...failed('drift', `${plural(broken.length, 'difference')}: ${named(broken)}.`, ...repairs),
      ...(safe.length === 0 ? {} : { repair: repairOf(safe, database) }),
    })
  }
  if (extra.length > 0) {
    findings.push(
      warn(
        'drift',
        `Not made by reprise: ${named(extra)}.`,
        'Keep your own tables and indexes in a schema of yours.',
      ),
    )
  }
  return findings
}

function repairOf(safe: readonly Drift[], { client }: Database): Finding['repair'] & object {
  return {
    text: `put back ${safe.map(({ kind, name }) => `${kind} ${name}`).join(', ')}`,
    async apply() {
      const [first = '', ...rest] = safe.flatMap(({ repair }) => repair)
      const session = await client.begin({
        first: { statement: { name: '', text: first }, values: [] },
        isolation: 'read committed',
      })
      try {
        for (const text of rest) await session.script(text)
        await session.commit({ statement: { name: '', text: PING }, values: [] })
      } catch (error) {
        await session.rollback()
        throw error
      }
    },
  }
}
