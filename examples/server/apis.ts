/**
 * The APIs that the server serves: where each one is, and what it needs.
 *
 * @module
 */

import { existsSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { StagedJob, WorkersOptions } from 'reprise/workers'
import type { Stripe } from 'stripe'
import type { ExampleContext } from './context.ts'
import type { Mailer } from './mailer.ts'
import type { MountedApi } from './router.ts'

/** What APIs are given besides their context. */
export interface ApiTools {
  readonly stripe: Stripe
  readonly mailer: Mailer
}

/** What an API may be made into: a listener, or one with work that goes on behind it. */
export type CreatedApi =
  | RequestListener
  | {
      readonly listener: RequestListener
      /** Operations in phases that the completer drives on. */
      readonly operations?: WorkersOptions<unknown>['operations']
      /** Does the staged jobs, by name. */
      readonly jobs?: Readonly<Record<string, (job: StagedJob) => Promise<unknown>>>
    }

/** An API of the server. */
export interface ApiSpec {
  readonly name: string
  readonly framework: string
  /** First parts of its paths. */
  readonly paths: readonly string[]
  /** What `/demo/ledger` counts, with the table of each. */
  readonly counts: Readonly<Record<string, string>>
}

/** The APIs. */
const APIS: readonly ApiSpec[] = [
  { name: 'tasks', framework: 'Express', paths: ['/tasks'], counts: { tasks: 'tasks' } },
  {
    ...{ name: 'rides', framework: 'Fastify', paths: ['/rides'] },
    counts: { rides: 'rides', audit_records: 'audit_records' },
  },
  {
    ...{ name: 'workflows', framework: 'NestJS', paths: ['/api/workflows', '/api/usage'] },
    counts: { runs: 'runs' },
  },
  { name: 'charges', framework: 'Hono', paths: ['/v1/charges', '/orders'], counts: {} },
  {
    ...{ name: 'agents', framework: 'Koa', counts: {} },
    paths: ['/api/auth', '/api/dwellers', '/api/stories', '/api/proposals', '/api/review'],
  },
]

/** An API whose code is loaded. */
export interface LoadedApi extends ApiSpec {
  /** Makes its tables. */
  readonly schema: string
  create(context: ExampleContext, tools: ApiTools): Promise<CreatedApi>
}

/** An API that runs. */
export interface RunningApi extends MountedApi {
  readonly operations: NonNullable<WorkersOptions<unknown>['operations']>
  readonly jobs: Readonly<Record<string, (job: StagedJob) => Promise<unknown>>>
}

/** Loads the code of every API that stands in `folder`, which is the one of the examples. */
export async function loadApis(
  folder = join(import.meta.dirname, '..'),
): Promise<readonly LoadedApi[]> {
  const loaded = await Promise.all(APIS.map((spec) => load(spec, folder)))
  return loaded.filter((api) => api !== undefined)
}

async function load(spec: ApiSpec, folder: string): Promise<LoadedApi | undefined> {
  const file = join(folder, spec.name, 'index.ts')
  if (!existsSync(file)) return undefined
  const module: unknown = await import(pathToFileURL(file).href)
  const exported = new Map(Object.entries(Object(module)))
  const create = exported.get(`create${spec.name[0]?.toUpperCase()}${spec.name.slice(1)}`)
  const schema: unknown = exported.get(`${spec.name}Schema`) ?? ''
  if (typeof create !== 'function') throw new Error(`${file} exports no function that makes it.`)
  if (typeof schema !== 'string') throw new Error(`${file} exports a schema that is no SQL.`)
  return { ...spec, create: (...args) => create(...args), schema }
}

/** Makes an API. */
export async function startApi(
  api: LoadedApi,
  context: ExampleContext,
  tools: ApiTools,
): Promise<RunningApi> {
  const created = await api.create(context, tools)
  const {
    listener,
    operations = [],
    jobs = {},
  } = typeof created === 'function' ? { listener: created } : created
  return { paths: api.paths, listener, operations, jobs }
}
