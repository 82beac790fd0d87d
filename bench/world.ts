/**
 * The databases of a run: servers of its own, so that what they count is what was measured.
 *
 * @module
 */

import pg from 'pg'
import { createClient } from 'redis'
import { startPostgres } from '../scripts/servers/postgres.ts'
import { startRedis } from '../scripts/servers/redis.ts'
import type { ServerTask } from './servers/setups.ts'
import { TABLE } from './servers/work.ts'

/** What a run measures on. */
export interface World {
  readonly databaseUrl: string
  /** `undefined` where no Redis is installed. */
  readonly redisUrl: string | undefined
  /** For what the benchmark itself asks. */
  readonly database: pg.Pool
  readonly postgresVersion: string
  readonly redisVersion: string
  task(variant: string): ServerTask
  close(): Promise<void>
}

/** Starts the servers. */
export async function openWorld(): Promise<World> {
  const postgres = await startPostgres({ REPRISE_POSTGRES: 'installed,npm' })
  const redis = await startRedis({ PATH: process.env.PATH, REPRISE_REDIS: 'installed' })
  const databaseUrl = await benchDatabase(postgres.url)
  const database = new pg.Pool({ connectionString: databaseUrl, max: 1, application_name: 'bench' })
  database.on('error', () => {})
  await database.query(TABLE)
  const { rows } = await database.query<{ server_version: string }>('show server_version')
  const redisUrl = 'url' in redis ? redis.url : undefined
  return {
    ...{ databaseUrl, redisUrl, database },
    postgresVersion: rows[0]?.server_version ?? '',
    redisVersion: redisUrl === undefined ? 'none' : await redisVersion(redisUrl),
    task: (variant) => ({ variant, databaseUrl, redisUrl: redisUrl ?? '', slowMs: 0 }),
    async close() {
      await database.end()
      await postgres.stop()
      if ('stop' in redis) await redis.stop()
    },
  }
}

/**
 * A database of the run's own. Checkpoints and vacuuming wait: pages are written whole after the one,
 * and what the other writes would be counted as that of requests.
 */
async function benchDatabase(serverUrl: string): Promise<string> {
  const client = new pg.Client({ connectionString: serverUrl })
  await client.connect()
  await client.query(`alter system set checkpoint_timeout = '1h'`)
  await client.query(`alter system set max_wal_size = '16GB'`)
  await client.query('alter system set autovacuum = off')
  await client.query('select pg_reload_conf()')
  await client.query('create database bench')
  await client.end()
  const url = new URL(serverUrl)
  url.pathname = '/bench'
  return url.href
}

async function redisVersion(url: string): Promise<string> {
  const client = await createClient({ url }).connect()
  const info = await client.info('server')
  client.destroy()
  return /redis_version:(\S+)/.exec(info)?.[1] ?? ''
}
