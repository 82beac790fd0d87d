/**
 * What a record takes: bytes in PostgreSQL with its indexes, bytes in Redis.
 *
 * @module
 */

import { createClient } from 'redis'
import { startServer } from './child.ts'
import { bytesPerRecord, fill, takeSample } from './fill.ts'
import { bodyOf, freshKey, send } from './load.ts'
import type { World } from './world.ts'

/** Bytes per record. */
export interface Sizes {
  readonly postgresBytes: number
  readonly postgresRows: number
  readonly redisBytes: number | null
  /** The same where every answer is compressed (`compressBytesMin: 0`). */
  readonly redisPackedBytes: number | null
  readonly bodyBytes: number
}

/** Records that are looked at in Redis. */
const REDIS_RECORDS = 1000

/** Measures records with the answer of the benchmark's own route. */
export async function sizes(world: World, rows: number): Promise<Sizes> {
  const { database } = world
  const bodyBytes = await requestOnce(world, 'express/transaction', 1)
  await takeSample(database, world.task('express/transaction'))
  await fill(database, { from: 0, to: rows })
  const postgresBytes = await bytesPerRecord(database)
  await database.query('truncate reprise.records')
  return {
    ...{ postgresBytes, postgresRows: rows, bodyBytes },
    redisBytes: await bytesInRedis(world, 'express/lease-redis'),
    redisPackedBytes: await bytesInRedis(world, 'express/lease-redis-packed'),
  }
}

async function bytesInRedis(world: World, variant: string): Promise<number | null> {
  if (world.redisUrl === undefined) return null
  const client = await createClient({ url: world.redisUrl }).connect()
  await client.flushAll()
  await requestOnce(world, variant, REDIS_RECORDS - 1)
  let bytes = 0
  for await (const keys of client.scanIterator({ COUNT: 1000 })) {
    for (const key of keys) bytes += (await client.memoryUsage(key)) ?? 0
  }
  client.destroy()
  return bytes / REDIS_RECORDS
}

/** Sends requests; gives the length of an answer. */
async function requestOnce(world: World, variant: string, requests: number): Promise<number> {
  const server = await startServer(world.task(variant))
  await send({ port: server.port, connections: 1, requests, nextKey: freshKey })
  const response = await fetch(`http://127.0.0.1:${server.port}/rides`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': freshKey() },
    body: bodyOf(),
  })
  const { byteLength } = await response.arrayBuffer()
  await server.stop()
  return byteLength
}
