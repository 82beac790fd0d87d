/**
 * What stands between the framework and the handler, by name.
 *
 * @module
 */

import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { createClient } from 'redis'
import { type ClaimTime, createReprise, memoryStore, type Reprise, type RunOptions } from 'reprise'
import { txOf } from 'reprise/express'
import { advance, foreignCall, operation, phase, respond } from 'reprise/phases'
import { postgresStore } from 'reprise/postgres'
import { redisStore } from 'reprise/redis'
import { byHand } from './by-hand.ts'
import type { Route } from './frameworks.ts'
import { PEERS } from './peers.ts'
import { insertRide, insertRideAlone, type NewRide, type Ride, rideOf, SLOW } from './work.ts'

/** What a server is told. */
export interface ServerTask {
  /** Framework and setup, as in `express/transaction`. */
  readonly variant: string
  readonly databaseUrl: string
  readonly redisUrl: string
  /** How long the handler takes besides for slow rides, in milliseconds, and duplicates wait. */
  readonly slowMs: number
}

/** Connections that a server holds at most. */
const POOL_MAX = 20

/** How long a duplicate waits for its twin where the handler is slow, in milliseconds. */
const WAIT_MS = 30_000

/** Sets a route up. */
export type Setup = (task: ServerTask) => Promise<Route> | Route

/** Every setup that a variant can name. */
export const SETUPS: Readonly<Record<string, Setup>> = {
  bare(task) {
    const pool = poolOf(task, false)
    return {
      async handle(ride) {
        if (!isSlow(task, ride)) return insertRideAlone(pool, ride)
        // No row: a thousand at once are to cost what the requests themselves do, and no more.
        await delay(task.slowMs)
        return rideOf('1', ride)
      },
    }
  },
  noop: () => ({ handle: async (ride) => rideOf('1', ride) }),
  transaction: (task) => inTransaction(task, { isCached: true }),
  'transaction-uncached': (task) => inTransaction(task, { isCached: false }),
  'first-statement': (task) =>
    inTransaction(task, { isCached: true, claim: 'with-first-statement' }),
  'by-hand': (task) => byHand(task, false),
  'first-statement-by-hand': (task) => byHand(task, true),
  'lease-postgres'(task) {
    const pool = poolOf(task, true)
    return leased(task, pool, createReprise({ store: postgresStore(pool), ...waiting(task) }))
  },
  'lease-redis': (task) => onRedis(task, true),
  'lease-redis-uncached': (task) => onRedis(task, false),
  'lease-redis-packed': (task) => onRedis(task, true, { compressBytesMin: 0 }),
  memory: (task) =>
    leased(task, poolOf(task, false), createReprise({ store: memoryStore(), ...waiting(task) })),
  phases: inPhases,
  ...PEERS,
}

/** A pool on the task's database. */
export function poolOf({ databaseUrl }: ServerTask, pipeline: boolean): pg.Pool {
  return new pg.Pool({ connectionString: databaseUrl, max: POOL_MAX, pipeline })
}

interface Transacting {
  readonly isCached: boolean
  readonly claim?: ClaimTime
}

function inTransaction(task: ServerTask, { isCached, ...mode }: Transacting): Route {
  const store = postgresStore(poolOf(task, true))
  const reprise = createReprise({ store, ...caching(isCached), ...waiting(task) })
  return {
    protection: { reprise, transaction: true, ...mode },
    async handle(ride, request) {
      const answer = await insertRide(txOf<pg.PoolClient>(request), ride)
      if (isSlow(task, ride)) await delay(task.slowMs)
      return answer
    },
  }
}

async function onRedis(
  task: ServerTask,
  isCached: boolean,
  options: RunOptions = {},
): Promise<Route> {
  const client = await createClient({ url: task.redisUrl }).connect()
  const store = redisStore(client, { onUnsafe: 'ignore' })
  const reprise = createReprise({ store, ...options, ...caching(isCached), ...waiting(task) })
  return leased(task, poolOf(task, false), reprise)
}

function leased(task: ServerTask, pool: pg.Pool, reprise: Reprise): Route {
  return {
    // Lease mode hands out no transactions, so it makes no difference what they would be.
    protection: { reprise: reprise as Reprise<pg.PoolClient>, transaction: false },
    async handle(ride) {
      if (isSlow(task, ride)) await delay(task.slowMs)
      return insertRideAlone(pool, ride)
    },
  }
}

/** Two phases with a foreign call between them, as in the rides example; the call itself is free. */
function inPhases(task: ServerTask): Route {
  const reprise = createReprise({ store: postgresStore(poolOf(task, true)) })
  const input = {
    '~standard': {
      version: 1,
      vendor: 'bench',
      // The load generator sends nothing else.
      validate: (value: unknown) => ({ value: value as NewRide }),
    },
  } as const
  return {
    handle: () => Promise.reject(new Error('The operation answers.')),
    operation: operation(
      'create_ride',
      { reprise, input },
      {
        started: phase(async ({ tx, input }) => {
          return advance('ride_created', await insertRide(tx, input))
        }),
        ride_created: foreignCall({
          call: async (_, ride: Ride) => `charge-${ride.id}`,
          done: async ({ tx, result }, ride: Ride) => {
            await tx.query('update rides set note = $2 where id = $1', [ride.id, result])
            return advance('charge_created', ride)
          },
        }),
        charge_created: phase(async (_, ride: Ride) => respond(201, ride)),
      },
    ),
  }
}

function isSlow({ slowMs }: ServerTask, { note }: NewRide): boolean {
  return slowMs > 0 && note.startsWith(SLOW)
}

function caching(isCached: boolean): { readonly replayCache?: false } {
  return isCached ? {} : { replayCache: false }
}

function waiting({ slowMs }: ServerTask): { readonly waitMs?: number } {
  return slowMs > 0 ? { waitMs: WAIT_MS } : {}
}
