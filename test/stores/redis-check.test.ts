import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { RepriseError } from '../../src/core/errors.ts'
import { type RedisStoreOptions, redisStore } from '../../src/stores/redis/index.ts'
import {
  expectFound,
  rivalOf,
  sampleRequest,
  take,
  takeAndFinish,
} from '../../src/testing/contract/sample.ts'
import { ioredisDriver, nodeRedisDriver } from '../conformance/redis.harness.ts'
import { isRedisMissing, type OwnServer, startServer } from './redis-servers.ts'

/** What became of making the store ready: the warnings it wrote, or its refusal. */
interface Readiness {
  readonly warnings: readonly string[]
  readonly refusal: RepriseError | undefined
}

describe.skipIf(isRedisMissing())('the start-up check of the Redis store', () => {
  let server: OwnServer
  let directory = ''
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'reprise-aof-'))
    server = await startServer({ appendonly: 'yes' })
  })
  afterEach(async () => {
    await server.send('config', 'set', 'appendonly', 'yes')
    await server.send('config', 'set', 'maxmemory-policy', 'noeviction')
    await server.send('replicaof', 'no', 'one')
  })
  afterAll(async () => {
    await server.stop()
    await rm(directory, { recursive: true, force: true })
  })

  it('says nothing about a Redis that keeps what it is told', async () => {
    expect(await readiness(server, { onUnsafe: 'refuse' })).toEqual({
      warnings: [],
      refusal: undefined,
    })
  })

  it('warns of a Redis that forgets in a crash', async () => {
    await server.send('config', 'set', 'appendonly', 'no')
    const { warnings } = await readiness(server)

    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('CONFIG SET appendonly yes')
    expect(warnings[0]).not.toContain('maxmemory-policy')
  })

  it('warns of a Redis that drops records when its memory is full', async () => {
    await server.send('config', 'set', 'maxmemory-policy', 'allkeys-lru')
    const { warnings } = await readiness(server)

    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('maxmemory-policy is allkeys-lru')
    expect(warnings[0]).toContain('CONFIG SET maxmemory-policy noeviction')
  })

  it('refuses an unsafe Redis where it is told to, and names the setting', async () => {
    await server.send('config', 'set', 'maxmemory-policy', 'volatile-ttl')
    const { refusal, warnings } = await readiness(server, { onUnsafe: 'refuse' })

    expect(refusal).toMatchObject({ code: 'reprise-store-unsafe' })
    expect(refusal?.message).toContain('maxmemory-policy is volatile-ttl')
    expect(warnings).toEqual([])
  })

  it('says nothing of an unsafe Redis where it is told to', async () => {
    await server.send('config', 'set', 'appendonly', 'no')

    expect(await readiness(server, { onUnsafe: 'ignore' })).toEqual({
      warnings: [],
      refusal: undefined,
    })
  })

  it('refuses a replica, whatever it is told', async () => {
    await server.send('replicaof', '127.0.0.1', '1')
    const { refusal } = await readiness(server, { onUnsafe: 'ignore' })

    expect(refusal).toMatchObject({ code: 'reprise-store-unsafe' })
    expect(refusal?.message).toContain('is a replica')
  })

  it('says that it does not know where it may not ask', async () => {
    await server.send('acl', 'setuser', 'app', 'on', '>secret', '~*', '&*', '+@all', '-@dangerous')
    const credentials = { username: 'app', password: 'secret' }
    const { warnings } = await readiness(server, {}, credentials)

    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain('unknown')
  })

  it('looks once, and again only if it failed', async () => {
    await server.send('config', 'set', 'maxmemory-policy', 'allkeys-lru')
    const client = await nodeRedisDriver.open(server.url)
    const store = redisStore(client.client, { onUnsafe: 'refuse' })
    await expect(store.ready()).rejects.toThrow('maxmemory-policy')
    await server.send('config', 'set', 'maxmemory-policy', 'noeviction')
    await store.ready()
    await server.send('config', 'set', 'maxmemory-policy', 'allkeys-lru')

    await expect(store.ready()).resolves.toBeUndefined()
    await client.close()
  })

  it('checks every server of a driver that is not connected yet', async () => {
    await server.send('config', 'set', 'appendonly', 'no')
    const client = await ioredisDriver.open(server.url)
    const store = redisStore(client.client, { onUnsafe: 'refuse' })

    await expect(store.ready()).rejects.toMatchObject({ code: 'reprise-store-unsafe' })
    await client.close()
  })

  it('passes a Redis whose records survive a kill', async () => {
    const settings = { appendonly: 'yes', appendfsync: 'always', dir: directory }
    const first = await startServer(settings)
    const client = await nodeRedisDriver.open(first.url)
    const store = redisStore(client.client, { onUnsafe: 'refuse' })
    await store.ready()
    const [finished, running] = [sampleRequest(), sampleRequest()]
    await takeAndFinish(store, finished)
    await take(store, running)
    const pid = /process_id:(\d+)/.exec(String(await first.send('info', 'server')))?.[1]
    process.kill(Number(pid), 'SIGKILL')
    await first.stop()
    const second = await startServer({ ...settings, port: `${first.port}` })

    expect(await store.claim(rivalOf(finished))).toMatchObject({ outcome: 'replay' })
    expect(await expectFound(store, running.id)).toMatchObject({ status: 'running' })
    await client.close()
    await second.stop()
  })
})

async function readiness(
  { url }: OwnServer,
  options: RedisStoreOptions = {},
  credentials: { readonly username?: string; readonly password?: string } = {},
): Promise<Readiness> {
  const warnings: string[] = []
  const listener = (warning: Error & { readonly code?: string }) => {
    if (warning.code === 'REPRISE_STORE_UNSAFE') warnings.push(warning.message)
  }
  const client = createClient({ url, ...credentials })
  process.on('warning', listener)
  try {
    await client.connect()
    const refusal = await redisStore(client, options)
      .ready()
      .then(
        () => undefined,
        (error: RepriseError) => error,
      )
    // Warnings are written in a later turn; this takes a whole round trip.
    await client.ping()
    return { warnings, refusal }
  } finally {
    process.off('warning', listener)
    client.destroy()
  }
}
