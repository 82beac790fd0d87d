import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sampleRequest, take } from '../../src/testing/contract/sample.ts'
import { nodeRedisDriver } from '../conformance/redis.harness.ts'
import { isRedisMissing, type OwnServer, startServer } from './redis-servers.ts'

describe.skipIf(isRedisMissing())('the count of a caller’s keys in Redis', () => {
  let server: OwnServer
  beforeAll(async () => {
    server = await startServer({ appendonly: 'no' })
  })
  afterAll(async () => {
    await server.stop()
  })

  it('goes by itself when the last of them no longer counts', async () => {
    const client = await nodeRedisDriver.open(server.url)
    const store = redisStore(client.client, { prefix: 'reprise:', onUnsafe: 'ignore' })
    for (const perMs of [60_000, 20_000]) {
      await take(store, sampleRequest({ quota: { keys: 10, perMs } }))
    }
    const sets: string[] = []
    for (const key of (await server.send('keys', '*')) as readonly unknown[]) {
      if (String(await server.send('type', String(key))) === 'zset') sets.push(String(key))
    }
    expect(sets).toHaveLength(1)
    const leftMs = Number(await server.send('pttl', sets[0] ?? ''))
    expect(leftMs).toBeGreaterThan(20_000)
    expect(leftMs).toBeLessThanOrEqual(60_000)
    await store.close()
    await client.close()
  })
})
