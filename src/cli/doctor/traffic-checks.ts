/**
 * Checks of what is kept and how it is configured.
 *
 * @module
 */

import { isRepriseError } from '../../core/errors.ts'
import { type ResolvedRunOptions, resolveRunOptions } from '../../core/options.ts'
import { BLOAT, callersOf, phasesOf, vacuum } from '../queries.ts'
import { duration } from '../words.ts'
import { type Check, type Finding, failed, fine, warn } from './check.ts'

/** Fewer dead rows than this are nothing. */
const DEAD_ROWS_MIN = 10_000

/** Whether tables are full of rows that are gone. */
export const checkBloat: Check = async ({ database, hasSchema }) => {
  if (!hasSchema) return []
  const rows = await database.query(BLOAT, [database.schema])
  const bytes = rows.reduce((sum, [, , , size]) => sum + Number(size), 0)
  const bloated = rows.filter(
    ([, live, dead]) => Number(dead) > Math.max(DEAD_ROWS_MIN, Number(live)),
  )
  const megabytes = `${(bytes / 1_048_576).toFixed(1)} MB`
  if (bloated.length === 0) return [fine('bloat', `${megabytes} in all`)]
  const tables = bloated.map(([table]) => String(table))
  const statements = tables.map((table) => vacuum(database.schema, table))
  const apply = async () => {
    for (const text of statements) await database.query(text)
  }
  const text = `More dead rows than live ones in ${tables.join(', ')} (${megabytes} in all).`
  return [
    {
      ...warn(
        'bloat',
        text,
        ...statements.map((one) => `${one};`),
        'See that autovacuum keeps up.',
      ),
      repair: { text: `vacuum ${tables.join(', ')}`, apply },
    },
  ]
}

/** A client gives up after a day at the latest. */
const RETRY_WINDOW_MS = 86_400_000

/** Whether the settings make sense together, and with what the database has seen. */
export const checkSettings: Check = async ({ context, database, hasSchema }) => {
  const { project } = context
  if (project.configError !== undefined) {
    return [failed('configuration', project.configError.message, project.configError.hint ?? '')]
  }
  const options = runOptionsOf(project.config)
  if ('level' in options) return [options]
  const retentionMs = options.retentionIsFixed ? options.retentionMs('') : undefined
  const windowMs = Number(project.config['retryWindowMs'] ?? RETRY_WINDOW_MS)
  return [
    retentionMs !== undefined && retentionMs < windowMs
      ? warn(
          'retention',
          `Answers are kept for ${duration(retentionMs)}; clients may retry for ${duration(windowMs)}, and would run again.`,
          'Raise retentionMs, or say in the configuration how long clients retry: retryWindowMs.',
        )
      : fine(
          'retention',
          retentionMs === undefined ? 'by caller' : `answers are kept for ${duration(retentionMs)}`,
        ),
    ...(hasSchema ? [await leaseFinding(options, database), await scopeFinding(database)] : []),
  ]
}

type Database = Parameters<Check>[0]['database']

async function leaseFinding({ leaseMs }: ResolvedRunOptions, database: Database): Promise<Finding> {
  const [[longest, count] = []] = await database.query(phasesOf(database.schema))
  if (Number(count) === 0) return fine('lease', duration(leaseMs))
  const longestMs = Number(longest)
  // The last quarter is for the renewal that comes too late.
  if (longestMs <= leaseMs * 0.75)
    return fine('lease', `${duration(leaseMs)}; the longest phase took ${duration(longestMs)}`)
  return warn(
    'lease',
    `A phase took ${duration(longestMs)}; a lease holds ${duration(leaseMs)}, and another node may take over.`,
    `Raise leaseMs to ${Math.ceil((longestMs * 2) / 1000) * 1000}, or split the phase.`,
  )
}

async function scopeFinding(database: Database): Promise<Finding> {
  const [[callers, records] = []] = await database.query(callersOf(database.schema))
  if (Number(records) < 100 || Number(callers) > 1) return fine('scope', 'keys count per caller')
  return warn(
    'scope',
    'All requests come from one caller: clients could read the answers of others.',
    'See that the option caller names the account, not a constant.',
  )
}

/** The run options in force: those of the engine that the configuration exports, or its own. */
function runOptionsOf(config: Readonly<Record<string, unknown>>): ResolvedRunOptions | Finding {
  const engine = config['reprise']
  if (typeof engine === 'object' && engine !== null && 'options' in engine) {
    // Engines have their resolved options here.
    return engine.options as ResolvedRunOptions
  }
  const given = Object.fromEntries(
    ['leaseMs', 'retentionMs', 'waitMs'].flatMap((name) => {
      const value = config[name]
      return typeof value === 'number' ? [[name, value]] : []
    }),
  )
  try {
    return resolveRunOptions(given)
  } catch (error) {
    if (!isRepriseError(error)) throw error
    return failed('configuration', error.detail ?? error.message, error.hint)
  }
}
