/** A node of a service, told by messages what to do: it can be killed, frozen and cut off anywhere. */

import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { createClient } from 'redis'
import { createReprise, type LeaseReprise, type Reprise } from '../../src/index.ts'
import {
  advance,
  foreignCall,
  type Operation,
  operation,
  type PhaseContext,
  phase,
  respond,
  retryLater,
} from '../../src/phases/index.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { pgKind } from '../hostile/handlers/pg.ts'
import { deployedCharge } from './deploys.ts'
import { HOSTILE_POOL, runHostile } from './hostile.ts'
import { type Run, serveNode } from './serve-node.ts'

/**
 * How requests run: in a transaction, in one that claims with its first statement, in one whose handler
 * is hostile, in phases, in phases of which two versions with other names run, or under a lease in PostgreSQL or Redis.
 */
export type Mode =
  | 'transaction'
  | 'first-statement'
  | 'hostile'
  | 'hostile-drizzle'
  | 'hostile-kysely'
  | 'phases'
  | 'deploys'
  | 'lease'
  | 'redis'

/** What a node is started with. */
export interface NodeTask {
  readonly mode: Mode
  /** PostgreSQL, where effects are counted. */
  readonly url: string
  /** Where keys are in the mode `redis`. */
  readonly redisUrl: string
  /** Port of the payment provider. */
  readonly provider: number
  readonly leaseMs: number
  /** Which version of the app it is: the new one has a phase less. */
  readonly version: 1 | 2
}

/** A request. */
export interface NodeOrder {
  /** Of this attempt. */
  readonly id: number
  readonly key: string
}

/** What a node says; without an id it is up. */
export interface NodeMessage {
  readonly id?: number
  readonly outcome?: string
  readonly status?: number | null
  readonly body?: string
  /** Whether the answer is kept, where one was made. */
  readonly fate?: string
}

// The parent wrote it.
const task = JSON.parse(process.argv[2] ?? '') as NodeTask
const pool = new pg.Pool({
  ...{ connectionString: task.url, max: 6, connectionTimeoutMillis: 5000 },
  pipeline: task.mode === 'first-statement',
})
pool.on('error', () => {})
pool.on('connect', (client) => client.on('error', () => {}))

const INSERT = 'insert into effects (key, token) values ($1, $2)'
const common = { leaseMs: task.leaseMs, storeTimeoutMs: 3000 }
const requestOf = (key: string) => ({
  ...{ caller: 'acct', operation: 'POST /charges', key, fingerprints: ['f'] },
})

/** An answer that no other run would give. */
function answer(token: string) {
  return { status: 201, headers: [], body: new TextEncoder().encode(token) }
}

function inTransactions(claim: 'first' | 'with-first-statement'): Run {
  const reprise = createReprise({ store: postgresStore(pool), ...common })
  const handler =
    (key: string) =>
    async ({ tx }: { readonly tx: pg.PoolClient }) => {
      const token = randomBytes(9).toString('base64url')
      await tx.query(INSERT, [key, token])
      return answer(token)
    }
  return (key) => reprise.runInTransaction(requestOf(key), handler(key), { claim })
}

async function inHostileTransactions(): Promise<Run> {
  const kind = pgKind('pg', false)
  return runHostile(await kind.connect(task.url, { pool: HOSTILE_POOL, latencyMs: 0 }), common)
}

async function inRedis(): Promise<Run> {
  const client = createClient({ url: task.redisUrl })
  client.on('error', () => {})
  await client.connect()
  return underLeases(createReprise({ store: redisStore(client), ...common }))
}

function underLeases(reprise: LeaseReprise): Run {
  return (key) =>
    reprise.run(requestOf(key), async () => {
      const token = randomBytes(9).toString('base64url')
      await pool.query(INSERT, [key, token])
      return answer(token)
    })
}

/** What is handed on from phase to phase. */
interface Order {
  readonly key: string
  readonly token: string
}

/** One row, one charge at the provider, one row more; completed by whoever is left. */
function inPhases(): Run {
  const reprise = createReprise({ store: postgresStore(pool), ...common })
  return complete(reprise, task.version === 1 ? oldCharge(reprise) : newCharge(reprise))
}

function inDeploys(): Run {
  const reprise = createReprise({ store: postgresStore(pool), ...common })
  return complete(reprise, deployedCharge(reprise, task))
}

function complete(reprise: Reprise<pg.PoolClient>, charge: Operation<pg.PoolClient, string>): Run {
  const sink = functionSink(async () => {})
  createWorkers(reprise, {
    ...{ operations: [charge], sink, completer: { everyMs: 300 }, reaper: { everyMs: 3000 } },
  }).start()
  return (key) => charge.run({ caller: 'acct', key, input: key })
}

function settingsOf(reprise: Reprise<pg.PoolClient>) {
  const input = { '~standard': { version: 1, vendor: 'reality', validate } } as const
  const completer = { graceMs: 500, retryMs: 200, retryMsMax: 1000 }
  return { reprise, input, completer, leaseMs: task.leaseMs }
}

const started = phase(async ({ tx, input: key }: PhaseContext<pg.PoolClient, string>) => {
  const token = randomBytes(9).toString('base64url')
  await tx.query(INSERT, [key, token])
  return advance('ordered', { key, token })
})

const calling = {
  repeat: 'with-key' as const,
  call: async ({ key }: { readonly key: string }, order: Order) => book(key, order.key),
  failed: () => retryLater({ afterMs: 200 }),
}

/** Notes the charge, which is the end. */
async function noted({ tx }: { readonly tx: pg.PoolClient }, { key, token }: Order) {
  await tx.query('insert into charges (key) values ($1)', [key])
  return respond(201, token)
}

function oldCharge(reprise: Reprise<pg.PoolClient>): Operation<pg.PoolClient, string> {
  return operation('charge', settingsOf(reprise), {
    started,
    ordered: foreignCall({ ...calling, done: async (_, order) => advance('booked', order) }),
    booked: phase(noted),
  })
}

/** Without the last phase; what the old version has left there is charged again, under its key. */
function newCharge(reprise: Reprise<pg.PoolClient>): Operation<pg.PoolClient, string> {
  const migrate = ({ point, state }: { readonly point: string; readonly state: unknown }) => ({
    point: point === 'booked' ? 'ordered' : point,
    state,
  })
  return operation(
    'charge',
    { ...settingsOf(reprise), migrate },
    { started, ordered: foreignCall({ ...calling, done: noted }) },
  )
}

function validate(value: unknown): { value: string } {
  return { value: String(value) }
}

async function book(derived: string, order: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${task.provider}/${encodeURIComponent(order)}`, {
    ...{ method: 'POST', headers: { 'idempotency-key': derived } },
    signal: AbortSignal.timeout(3000),
  })
  if (!response.ok) throw new Error(`The provider answers ${response.status}.`)
  return response.text()
}

const runs: Partial<Record<Mode, () => Run | Promise<Run>>> = {
  transaction: () => inTransactions('first'),
  'first-statement': () => inTransactions('with-first-statement'),
  hostile: inHostileTransactions,
  lease: () => underLeases(createReprise({ store: postgresStore(pool), ...common })),
  ...{ phases: inPhases, deploys: inDeploys, redis: inRedis },
}
const run = await runs[task.mode]?.()
if (run === undefined) throw new Error(`This node does not run ${task.mode}.`)
serveNode(run)
