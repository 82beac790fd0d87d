/**
 * The engine that a command works on: the one that the configuration exports, or one on the database.
 *
 * @module
 */

import type { Admin } from '../admin/admin.ts'
import { createAdmin } from '../admin/create-admin.ts'
import { createReprise, type LeaseReprise, partsOf } from '../engine/reprise.ts'
import type { Completable } from '../phases/operation.ts'
import { resolveOptions } from '../stores/postgres/options.ts'
import { PostgresStore } from '../stores/postgres/store.ts'
import type { Sink } from '../workers/sink.ts'
import type { Context } from './command.ts'
import { openDatabase } from './database.ts'
import { CliError } from './errors.ts'

/** An engine, and what belongs to it. */
export interface Engine {
  readonly reprise: LeaseReprise
  readonly admin: Admin
  readonly operations: readonly Completable[]
  readonly sink: Sink | undefined
  /** Where it works, without password. */
  readonly label: string
  close(): Promise<void>
}

type Opening = Pick<Context, 'flags' | 'io' | 'project'>

/**
 * Opens the engine and makes sure that its store can be used.
 *
 * @throws CliError, RepriseError or the driver's own error when it can not
 */
export async function openEngine(context: Opening): Promise<Engine> {
  const { config } = context.project
  const operations = listOf(config['operations'])
  const sink = sinkOf(config['sink'])
  const own = engineOf(config['reprise'])
  // An operation brings its engine; those of one configuration share it.
  const reprise: LeaseReprise | undefined = own ?? operations[0]?.reprise
  if (reprise !== undefined && !context.flags.isTyped('database-url')) {
    const { store } = partsOf(reprise).context
    await store.ready()
    const admin = createAdmin(reprise, { operations })
    const close = () => reprise.close()
    return { reprise, admin, operations, sink, close, label: `${store.name} of the configuration` }
  }
  const database = await openDatabase(context)
  const { client, schema, label } = database
  const store = new PostgresStore(
    client,
    resolveOptions({ schema, migrate: false, prepare: false }),
  )
  const made = createReprise({ store, replayCache: false })
  const close = async () => {
    await made.close()
    await database.close()
  }
  try {
    await store.ready()
    return { reprise: made, admin: createAdmin(made), operations, sink, close, label }
  } catch (error) {
    await close().catch(() => {})
    throw error
  }
}

/** Opens the engine, uses it and closes it, whatever happens. */
export async function withEngine<T>(
  context: Opening,
  use: (engine: Engine) => Promise<T>,
): Promise<T> {
  const engine = await openEngine(context)
  try {
    return await use(engine)
  } finally {
    await engine.close().catch(() => {})
  }
}

function engineOf(value: unknown): LeaseReprise | undefined {
  if (value === undefined) return undefined
  const isEngine = typeof value === 'object' && value !== null && 'hasTransactions' in value
  // `createReprise` makes nothing else with this member; `partsOf` refuses what it did not make.
  if (isEngine) return value as LeaseReprise
  throw wrong('reprise', 'what createReprise() made')
}

function listOf(value: unknown): readonly Completable[] {
  if (value === undefined) return []
  const isOperation = (one: unknown) => typeof one === 'object' && one !== null && 'patience' in one
  // Operations have this member.
  if (Array.isArray(value) && value.every(isOperation)) return value as Completable[]
  throw wrong('operations', 'an array of what operation() made')
}

function sinkOf(value: unknown): Sink | undefined {
  if (value === undefined) return undefined
  const isSink = typeof value === 'object' && value !== null && 'deliver' in value
  // Sinks have this member.
  if (isSink) return value as Sink
  throw wrong('sink', 'a sink, such as functionSink() makes')
}

function wrong(name: string, wanted: string): CliError {
  return new CliError('REPRISE_E_CONFIG', `The configuration's ${name} is not ${wanted}.`, {
    hint: `Export ${name} from reprise.config as ${wanted}, or leave it out.`,
  })
}
