/** The world of the rides: the database, the provider's ledger, and what happened in both. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { type Child, useProgram } from '../support/children.ts'
import { temporaryDatabase } from '../support/postgres.ts'
import type { Charge, Fault, ProviderMessage, ProviderTask } from './provider.ts'
import type { Answer, NodeMessage, NodeOrder, NodeTask } from './ride-node.ts'

const TABLES = `
  create table users (
    id                 bigserial primary key,
    email              text not null unique,
    stripe_customer_id text not null unique
  );
  create table rides (
    id               bigserial primary key,
    user_id          bigint not null references users,
    request_key      text not null,
    origin_lat       numeric(13, 10) not null,
    origin_lon       numeric(13, 10) not null,
    target_lat       numeric(13, 10) not null,
    target_lon       numeric(13, 10) not null,
    stripe_charge_id text unique,
    unique (user_id, request_key)
  );
  create table audit_records (
    id            bigserial primary key,
    action        text not null,
    data          jsonb not null,
    origin_ip     inet not null,
    resource_type text not null,
    resource_id   bigint not null references rides,
    user_id       bigint not null references users
  );
  create table receipts (
    job_id     uuid primary key,
    name       text not null,
    user_id    bigint not null references users,
    deliveries integer not null default 1
  )`

const LOOKS_MAX = 10_000

/** So many looks in a row that see nobody at work. */
const QUIET_LOOKS = 100

/** What there is of one user's ride. */
export interface Effects {
  readonly rides: number
  readonly audits: number
  readonly charges: number
  readonly receipts: number
}

/** All of it, once. */
export const ONCE: Effects = { rides: 1, audits: 1, charges: 1, receipts: 1 }

/** A node, as its client sees it. */
export interface RideNode {
  readonly child: Child<NodeMessage>
  order(order: NodeOrder): void
  /** Asks for a ride and waits for what the client is told. */
  ride(user: string, key?: string): Promise<Answer>
  /** Waits until it pauses; where that is. */
  paused(): Promise<string>
  /** Goes on; what the client is told. */
  goOn(): Promise<Answer>
  /** One run of each worker; how many things they did. */
  work(): Promise<number>
}

/** Where every ride of a test file takes place. */
export interface RideWorld {
  readonly pool: pg.Pool
  readonly url: string
  readonly store: Store<pg.PoolClient>
  /** Starts the provider on the ledger of this file. */
  startProvider(): Promise<{ port: number; set(fault: Fault): Promise<void> }>
  /** Starts a node that does not count as ready yet. */
  startNode(task: Partial<NodeTask> & Pick<NodeTask, 'provider'>): RideNode
  /** Makes users with these names. */
  addUsers(names: readonly string[]): Promise<void>
  /** What happened, by user. */
  effects(): Promise<ReadonlyMap<string, Effects>>
  /** Waits until the database has done everything that was sent to it. */
  quiet(): Promise<void>
  /** Ends transactions whose process is silent, as the database does after the lease. */
  endIdle(): Promise<void>
  /** Has every lease lapse, or that of one user's ride, as time would. */
  lapse(user?: string): Promise<void>
}

/** A name of a user, of which many are made at once. */
export function userNames(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}@example.com`)
}

/** Makes the world for a test file. */
export function useRides(): RideWorld {
  const provider = useProgram<ProviderTask, ProviderMessage>(here('provider.ts'))
  const node = useProgram<NodeTask, NodeMessage>(here('ride-node.ts'))
  const folder = mkdtempSync(join(tmpdir(), 'reprise-rides-'))
  const ledger = join(folder, 'ledger')
  const pool = new pg.Pool({ max: 4 })
  // A connection that is still being closed when the database is dropped, is cut.
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const store = postgresStore(pool)
  let url = ''
  let drop = async () => {}
  beforeAll(async () => {
    const database = await temporaryDatabase()
    url = database.url
    drop = database.drop
    pool.options.connectionString = url
    pool.on('error', () => {})
    await store.ready()
    await pool.query(TABLES)
  })
  afterAll(async () => {
    await pool.end()
    await drop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    ...{ pool, store },
    get url() {
      return url
    },
    async startProvider() {
      const child = provider({ ledger })
      const { port } = await child.message()
      const set = async (fault: Fault) => {
        child.send(fault)
        await child.message()
      }
      return { port, set }
    },
    startNode(task) {
      const completer = { graceMs: 0, retryMs: 0 }
      return asNode(node({ url, leaseMs: 60_000, completer, works: false, ...task }))
    },
    async addUsers(names) {
      await pool.query(
        `insert into users (email, stripe_customer_id)
         select name, 'cus_' || name from unnest($1::text[]) name`,
        [names],
      )
    },
    effects: () => effects(pool, ledger),
    async quiet() {
      const busy = `select from pg_stat_activity
                     where datname = current_database() and state = 'active'
                       and pid <> pg_backend_pid()`
      // What is still on its way to the database can not be seen there: it is quiet only when it has
      // been for many looks, in each of which whoever has something to do gets a turn.
      let quietLooks = 0
      for (let looks = 0; quietLooks < QUIET_LOOKS; looks++) {
        quietLooks = (await pool.query(busy)).rowCount === 0 ? quietLooks + 1 : 0
        if (looks > LOOKS_MAX) throw new Error('The database is at work and does not end.')
      }
    },
    async endIdle() {
      const idle = `select pg_terminate_backend(pid) from pg_stat_activity
                     where datname = current_database() and state like 'idle in transaction%'`
      for (let looks = 0; (await pool.query(idle)).rowCount !== 0; looks++) {
        if (looks > LOOKS_MAX) throw new Error('A transaction that was ended is still there.')
      }
    },
    async lapse(user) {
      await pool.query(
        `update reprise.records set lease_until = clock_timestamp()
          where lease_until is not null and ($1::text is null or caller = $1)`,
        [user ?? null],
      )
    },
  }
}

function here(file: string): string {
  return join(import.meta.dirname, file)
}

function asNode(child: Child<NodeMessage>): RideNode {
  const order = (given: NodeOrder) => child.send(JSON.stringify(given))
  const next = async <Kind extends NodeMessage['kind']>(kind: Kind) => {
    for (;;) {
      const message = await child.message()
      // The kind says which of the messages it is.
      if (message.kind === kind) return message as NodeMessage & { kind: Kind }
    }
  }
  return {
    ...{ child, order },
    async ride(user, key = `ride of ${user}`) {
      order({ kind: 'ride', user, key, at: 0, act: 'kill' })
      return next('answer')
    },
    paused: async () => (await next('paused')).tick,
    async goOn() {
      order({ kind: 'go' })
      return next('answer')
    },
    async work() {
      order({ kind: 'work', at: 0, act: 'kill' })
      return (await next('worked')).done
    },
  }
}

async function effects(pool: pg.Pool, ledger: string): Promise<ReadonlyMap<string, Effects>> {
  const { rows } = await pool.query<{ email: string; customer: string } & Omit<Effects, 'charges'>>(
    `select u.email, u.stripe_customer_id as customer,
            (select count(*)::integer from rides r where r.user_id = u.id) as rides,
            (select count(*)::integer from audit_records a where a.user_id = u.id) as audits,
            (select count(*)::integer from receipts c where c.user_id = u.id) as receipts
       from users u`,
  )
  const charges = readFileSync(ledger, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as Charge).customer)
  const counted = new Map<string, number>()
  for (const customer of charges) counted.set(customer, (counted.get(customer) ?? 0) + 1)
  return new Map(
    rows.map(({ email, customer, rides, audits, receipts }) => [
      email,
      { rides, audits, charges: counted.get(customer) ?? 0, receipts },
    ]),
  )
}
