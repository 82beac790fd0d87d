/**
 * What a record takes: bytes in PostgreSQL with its indexes, bytes in Redis.
 *
 * @module
 */

import { createClient } from 'redis'
import { startServer } from './child.ts'
import { freshKey, send } from './load.ts'
import type { World } from './world.ts'

/** Bytes per record. */
export interface Sizes {
  readonly postgresBytes: number
  readonly postgresRows: number
  readonly redisBytes: number | null
  readonly bodyBytes: number
}

/** Records that are looked at in Redis. */
const REDIS_RECORDS = 1000

/** Measures records with the answer of the benchmark's own route. */
export async function sizes(world: World, rows: number): Promise<Sizes> {
  const bodyBytes = await requestOnce(world, 'express/transaction', 1)
  const postgresBytes = await bytesInPostgres(world, rows)
  if (world.redisUrl === undefined) {
    return { postgresBytes, postgresRows: rows, redisBytes: null, bodyBytes }
  }
  const client = await createClient({ url: world.redisUrl }).connect()
  await client.flushAll()
  await requestOnce(world, 'express/lease-redis', REDIS_RECORDS)
  let bytes = 0
  for await (const keys of client.scanIterator({ COUNT: 1000 })) {
    for (const key of keys) bytes += (await client.memoryUsage(key)) ?? 0
  }
  client.destroy()
  return { postgresBytes, postgresRows: rows, redisBytes: bytes / REDIS_RECORDS, bodyBytes }
}

/** Sends requests; gives the length of an answer. */
async function requestOnce(world: World, variant: string, requests: number): Promise<number> {
  const server = await startServer(world.task(variant))
  await send({ port: server.port, connections: 1, requests, nextKey: freshKey })
  const response = await fetch(`http://127.0.0.1:${server.port}/rides`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': freshKey() },
    body: '{"origin":"a","target":"b","passengers":1,"note":"c"}',
  })
  const { byteLength } = await response.arrayBuffer()
  await server.stop()
  return byteLength
}

/** Copies of a real record, each under an id of its own, in the order in which digests come: none. */
async function bytesInPostgres({ database }: World, rows: number): Promise<number> {
  const found = await database.query<{ name: string }>(`
    select column_name as name from information_schema.columns
     where table_schema = 'reprise' and table_name = 'records' and is_generated = 'NEVER'
       and column_name not in ('id', 'key')`)
  const names = found.rows.map(({ name }) => `"${name}"`).join(', ')
  await database.query('drop table if exists sample')
  await database.query(`
    create table sample as
    select * from reprise.records where status is not null order by created_at desc offset 1 limit 1`)
  await database.query('truncate reprise.records')
  await database.query(
    `insert into reprise.records (id, key, ${names})
     select substring(sha256(i::text::bytea) for octet_length(sample.id)),
            left('bench-' || md5(i::text), length(sample.key)), ${names}
       from generate_series(1, $1::integer) i, sample`,
    [rows],
  )
  const { rows: sized } = await database.query<{ bytes: string }>(
    `select pg_total_relation_size('reprise.records')::text as bytes`,
  )
  return Number(sized[0]?.bytes) / rows
}
