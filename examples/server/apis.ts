/**
 * The APIs that the server serves: where each one is, and what it needs.
 *
 * @module
 */

import type { RequestListener } from 'node:http'
import { type Dialect, dialects } from 'reprise/dialects'
import type { StagedJob, WorkersOptions } from 'reprise/workers'
import type { Stripe } from 'stripe'
import { agentsSchema, createAgents } from '../agents/index.ts'
import { chargesSchema, createCharges } from '../charges/index.ts'
import { createRides, ridesSchema } from '../rides/index.ts'
import { createTasks, tasksSchema } from '../tasks/index.ts'
import { createWorkflows, workflowsSchema } from '../workflows/index.ts'
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
  /** The dialect of its keys and errors. */
  readonly dialect: Dialect
  /** First parts of its paths. */
  readonly paths: readonly string[]
  /** What `/demo/ledger` counts, with the table of each. */
  readonly counts: Readonly<Record<string, string>>
}

/** An API whose code is loaded. */
export interface LoadedApi extends ApiSpec {
  /** Makes its tables. */
  readonly schema: string
  create(context: ExampleContext, tools: ApiTools): Promise<CreatedApi>
}

/** The APIs, each on another framework. */
export const APIS: readonly LoadedApi[] = [
  {
    ...{
      name: 'tasks',
      dialect: dialects.tasks,
      framework: 'Express',
      paths: ['/tasks'],
      counts: { tasks: 'tasks' },
    },
    ...{ schema: tasksSchema, create: createTasks },
  },
  {
    ...{ name: 'rides', dialect: dialects.rides, framework: 'Fastify', paths: ['/rides'] },
    counts: { rides: 'rides', audit_records: 'audit_records' },
    ...{ schema: ridesSchema, create: createRides },
  },
  {
    ...{
      name: 'workflows',
      dialect: dialects.workflows,
      framework: 'NestJS',
      paths: ['/api/workflows', '/api/usage'],
    },
    ...{ counts: { runs: 'runs' }, schema: workflowsSchema, create: createWorkflows },
  },
  {
    ...{
      name: 'charges',
      dialect: dialects.charges,
      framework: 'Hono',
      paths: ['/v1/charges', '/orders'],
      counts: {},
    },
    ...{ schema: chargesSchema, create: createCharges },
  },
  {
    ...{ name: 'agents', dialect: dialects.agents, framework: 'Koa', counts: {} },
    paths: ['/api/auth', '/api/dwellers', '/api/stories', '/api/proposals', '/api/review'],
    ...{ schema: agentsSchema, create: createAgents },
  },
]

/** An API that runs. */
export interface RunningApi extends MountedApi {
  readonly operations: NonNullable<WorkersOptions<unknown>['operations']>
  readonly jobs: Readonly<Record<string, (job: StagedJob) => Promise<unknown>>>
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
