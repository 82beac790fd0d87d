/**
 * What a request costs the databases, counted at one connection: round trips, bytes and syncs of
 * PostgreSQL's log, Redis commands.
 *
 * @module
 */

import { setTimeout as delay } from 'node:timers/promises'
import { startServer } from './child.ts'
import { freshKey, keyRing, send } from './load.ts'
import { countingProxy } from './proxy.ts'
import type { Workload } from './variants.ts'
import type { World } from './world.ts'

/** Counts per request. */
export interface Counts {
  readonly variant: string
  readonly workload: Workload
  readonly postgresRoundTrips: number
  readonly walBytes: number
  /** `null` where PostgreSQL does not count them (from version 18 on, in another view). */
  readonly fsyncs: number | null
  readonly redisCommands: number
}

type Totals = Omit<Counts, 'variant' | 'workload'>

/** Requests of the short and the long life of a server; what differs is what requests cost. */
const FEW = 20
const MANY = 120

/** Counts for a variant. */
export async function count(world: World, variant: string, workload: Workload): Promise<Counts> {
  const few = await lifeOf(world, { variant, workload, requests: FEW })
  const many = await lifeOf(world, { variant, workload, requests: MANY })
  const per = (a: number, b: number) => (b - a) / (MANY - FEW)
  return {
    ...{ variant, workload },
    postgresRoundTrips: per(few.postgresRoundTrips, many.postgresRoundTrips),
    walBytes: per(few.walBytes, many.walBytes),
    fsyncs: few.fsyncs === null || many.fsyncs === null ? null : per(few.fsyncs, many.fsyncs),
    redisCommands: per(few.redisCommands, many.redisCommands),
  }
}

interface Life {
  readonly variant: string
  readonly workload: Workload
  readonly requests: number
}

async function lifeOf(world: World, { variant, workload, requests }: Life): Promise<Totals> {
  const postgres = await countingProxy(world.databaseUrl)
  const redis = world.redisUrl === undefined ? undefined : await countingProxy(world.redisUrl)
  await quiet(world)
  const before = await logOf(world)
  const server = await startServer({
    ...world.task(variant),
    ...{ databaseUrl: postgres.url, redisUrl: redis?.url ?? '' },
  })
  const nextKey = workload === 'fresh' ? freshKey : keyRing(FEW / 2)
  await send({ port: server.port, connections: 1, requests, nextKey })
  await server.stop()
  await quiet(world)
  const after = await logOf(world)
  postgres.close()
  redis?.close()
  return {
    postgresRoundTrips: postgres.roundTrips,
    walBytes: after.bytes - before.bytes,
    fsyncs: after.syncs === null || before.syncs === null ? null : after.syncs - before.syncs,
    redisCommands: redis?.commands ?? 0,
  }
}

/** Looks for connections at most, 50 ms apart. */
const LOOKS_MAX = 200

/** Waits until the server's connections are gone: only then has PostgreSQL counted all they did. */
async function quiet({ database }: World): Promise<void> {
  const others = `
    select 1 from pg_stat_activity
     where datname = current_database() and pid <> pg_backend_pid() and application_name <> 'bench'`
  for (let look = 0; look < LOOKS_MAX; look++) {
    if ((await database.query(others)).rowCount === 0) return
    await delay(50)
  }
}

async function logOf({ database }: World): Promise<{ bytes: number; syncs: number | null }> {
  const text = `select (pg_current_wal_insert_lsn() - '0/0')::text as bytes, to_jsonb(w) as wal from pg_stat_wal w`
  const { rows } = await database.query<{ bytes: string; wal: { wal_sync?: number } }>(text)
  const [row] = rows
  return { bytes: Number(row?.bytes), syncs: row?.wal.wal_sync ?? null }
}
