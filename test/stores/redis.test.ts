import { setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRepriseError } from '../../src/core/errors.ts'
import type { Store, Unwatch } from '../../src/engine/store.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { race } from '../../src/testing/contract/race.ts'
import {
  bytes,
  expectFound,
  rivalOf,
  sampleFinish,
  sampleRequest,
  stepTo,
  take,
  takeAndFinish,
} from '../../src/testing/contract/sample.ts'
import { listAll } from '../../src/testing/contract/standings.ts'
import { type Driver, ioredisDriver, nodeRedisDriver } from '../conformance/redis.harness.ts'
import { isRedisMissing, type OwnServer, startServer } from './redis-servers.ts'

const PREFIX = 'reprise:'
const keyOf = (id: string) => `${PREFIX}{${id}}`

describe.skipIf(isRedisMissing())('the Redis store', () => {
  let server: OwnServer
  const open: { close(): Promise<void> }[] = []

  async function storeOn({ open: openDriver }: Driver): Promise<Store> {
    const client = await openDriver(server.url)
    const store = redisStore(client.client, { prefix: PREFIX, onUnsafe: 'ignore' })
    open.push(store, client)
    return store
  }

  beforeAll(async () => {
    server = await startServer({ appendonly: 'no' })
  })
  afterAll(async () => {
    for (const one of open) await one.close()
    await server.stop()
  })

  for (const driver of [nodeRedisDriver, ioredisDriver]) {
    describe(`on ${driver.name}`, () => {
      it('goes on when the server has forgotten the scripts', async () => {
        const store = await storeOn(driver)
        const request = sampleRequest({ recoveryPoint: 'started' })
        await server.send('script', 'flush')
        const { claim } = await take(store, request)
        await server.send('script', 'flush')
        expect(await store.renew(claim, 60_000)).toBe(true)
        await server.send('script', 'flush')
        expect(await store.advance(claim, stepTo('charged', bytes('state')))).toBe(true)
        await server.send('script', 'flush')
        expect(await store.finish(claim, sampleFinish())).toBe(true)
        await server.send('script', 'flush')

        expect(await expectFound(store, claim.id)).toMatchObject({ status: 'finished' })
      })

      it('needs two commands for a fresh request', async () => {
        const store = await storeOn(driver)
        await takeAndFinish(store, sampleRequest())
        const commands = await commandsDuring(server, () => takeAndFinish(store, sampleRequest()))

        expect(commands).toEqual(['evalsha', 'evalsha'])
      })

      it('goes on waking after its connection for messages was cut', async () => {
        const store = await storeOn(driver)
        const first = await take(store, sampleRequest())
        const watching = await startWatching(store, first.claim.id)
        await server.send('client', 'kill', 'type', 'pubsub')
        await subscribers(server, keyOf(first.claim.id), 1)
        await store.finish(first.claim, sampleFinish())

        await watching.woken
        watching.unwatch()
      })

      it('watches again what it stopped to watch', async () => {
        const store = await storeOn(driver)
        const { claim } = await take(store, sampleRequest())
        for (let round = 0; round < 20; round++) {
          const stopWatching = await store.watch?.(claim.id, () => {})
          stopWatching?.()
        }
        const watching = await startWatching(store, claim.id)
        await store.finish(claim, sampleFinish())

        await watching.woken
        watching.unwatch()
        await subscribers(server, keyOf(claim.id), 0)
      })
    })
  }

  it('reports a Redis that is gone as unavailable, and lives on', async () => {
    const own = await startServer()
    const socket = { reconnectStrategy: () => 10 }
    const nodeRedis = createClient({ url: own.url, disableOfflineQueue: true, socket })
    const ioredis = new Redis(own.url, { enableOfflineQueue: false, lazyConnect: true })
    for (const client of [nodeRedis, ioredis]) client.on('error', () => {})
    await Promise.all([nodeRedis.connect(), ioredis.connect()])
    const stores = [nodeRedis, ioredis].map((client) => redisStore(client, { onUnsafe: 'ignore' }))
    for (const store of stores) await store.watch?.('a record', () => {})
    await own.stop()
    const failures = await Promise.all(stores.map((store) => failure(store.claim(sampleRequest()))))

    expect(failures.map(({ code }) => code)).toEqual(Array(2).fill('idempotency-store-unavailable'))
    expect(failures.every(({ cause }) => cause instanceof Error)).toBe(true)
    for (const store of stores) await store.close()
    nodeRedis.destroy()
    ioredis.disconnect()
  })

  it('lets one of twenty runs through, ten on each driver', async () => {
    const [store, peer] = [await storeOn(nodeRedisDriver), await storeOn(ioredisDriver)]
    for (let round = 0; round < 20; round++) {
      const results = await race({ store, peer, advance: async () => {} }, sampleRequest())
      expect(results.filter(({ outcome }) => outcome === 'execute')).toHaveLength(1)
    }
  })

  it('takes numbers that a driver gives as texts', async () => {
    const client = new Redis(server.url, { stringNumbers: true })
    const store = redisStore(client, { onUnsafe: 'ignore' })
    const request = sampleRequest()
    const { claim } = await take(store, request)
    expect(await store.finish(claim, sampleFinish())).toBe(true)
    expect((await store.claim(request)).outcome).toBe('replay')
    client.disconnect()
  })

  it('keeps what is unfinished without a time to live, and drops what is finished', async () => {
    const store = await storeOn(nodeRedisDriver)
    const { claim } = await take(store, sampleRequest({ retentionMs: 1, leaseMs: 1 }))
    const unfinished = await server.send('pttl', keyOf(claim.id))
    await store.finish(claim, sampleFinish({ retentionMs: 60_000 }))
    const finished = Number(await server.send('pttl', keyOf(claim.id)))

    expect(unfinished).toBe(-1)
    expect(finished).toBeGreaterThan(50_000)
    expect(finished).toBeLessThanOrEqual(60_000)
  })

  it('changes nothing when Redis is out of memory', async () => {
    const store = await storeOn(nodeRedisDriver)
    const { claim } = await take(store, sampleRequest({ recoveryPoint: 'started' }))
    const before = await expectFound(store, claim.id)
    await server.send('config', 'set', 'maxmemory', '1')
    const failures = [
      await failure(store.advance(claim, stepTo('charged', bytes('state')))),
      await failure(store.renew(claim, 60_000)),
      await failure(store.finish(claim, sampleFinish())),
      await failure(store.claim(sampleRequest())),
    ]
    await server.send('config', 'set', 'maxmemory', '0')

    expect(failures.map(({ code }) => code)).toEqual(Array(4).fill('idempotency-store-unavailable'))
    expect(await expectFound(store, claim.id)).toEqual(before)
    expect(await store.finish(claim, sampleFinish())).toBe(true)
  })

  it('publishes only where somebody watches', async () => {
    const store = await storeOn(ioredisDriver)
    await takeAndFinish(store, sampleRequest())
    const before = await publishedOf(server)
    await takeAndFinish(store, sampleRequest())
    const unwatched = await publishedOf(server)
    const { claim } = await take(store, sampleRequest())
    const watching = await startWatching(store, claim.id)
    await store.finish(claim, sampleFinish())
    await watching.woken
    watching.unwatch()

    expect(unwatched).toBe(before)
    expect(await publishedOf(server)).toBe(before + 1)
  })

  it('lists every record also when Redis gives more than a page holds', async () => {
    // Few keys share few buckets, and Redis gives a whole bucket at least.
    const own = await startServer()
    const client = await nodeRedisDriver.open(own.url)
    const store = redisStore(client.client)
    const ids: string[] = []
    for (let count = 1; count <= 20; count++) {
      const { claim } = await take(store, sampleRequest())
      ids.push(claim.id)
      const listed = await listAll({ store, listsOnce: false }, { limit: 1 })
      expect(listed.map(({ record }) => record.id).sort()).toEqual(ids.sort())
    }
    await client.close()
    await own.stop()
  })

  it('finds few records among many keys', async () => {
    const store = await storeOn(nodeRedisDriver)
    const caller = 'few among many'
    const others = Array.from({ length: 3000 }, (_, index) => [`other:${index}`, 'x']).flat()
    await server.send('mset', ...others)
    const finished = Array.from({ length: 1500 }, () => sampleRequest({ caller }))
    await Promise.all(finished.map((request) => takeAndFinish(store, request)))
    const before = await store.stats()
    const made = Array.from({ length: 7 }, () =>
      sampleRequest({ caller, recoveryPoint: 'started' }),
    )
    for (const request of made) {
      const { claim } = await take(store, request)
      await store.release(claim, 'suspend')
    }

    const suspended = await listAll(
      { store, listsOnce: false },
      { caller, status: 'suspended', limit: 3 },
    )
    expect(suspended.map(({ record }) => record.id).sort()).toEqual(made.map(({ id }) => id).sort())
    const all = await listAll({ store, listsOnce: false }, { caller, limit: 100 })
    expect(new Set(all.map(({ record }) => record.id)).size).toBe(1507)
    expect(await store.stats()).toEqual({ ...before, suspended: before.suspended + 7 })
  })

  it('takes at most 620 bytes for a record with an answer of 300', async () => {
    const store = await storeOn(nodeRedisDriver)
    const origin = { requestId: crypto.randomUUID(), ip: '192.0.2.1', userAgent: null }
    const fingerprint = sampleRequest().id
    const request = sampleRequest({ key: crypto.randomUUID(), fingerprint, origin })
    const response = { status: 201, sealed: new Uint8Array(300).fill(7) }
    await takeAndFinish(store, request, sampleFinish({ response }))

    const usage = Number(await server.send('memory', 'usage', keyOf(request.id)))
    expect(usage).toBeLessThanOrEqual(620)
  })

  it('refuses a client that puts a prefix of its own before keys', async () => {
    const client = new Redis(server.url, { keyPrefix: 'app:', lazyConnect: true })

    expect(() => redisStore(client)).toThrow(/keyPrefix/)
  })

  it('works on a client of ioredis that pipelines by itself', async () => {
    const client = new Redis(server.url, { enableAutoPipelining: true })
    const store = redisStore(client, { prefix: PREFIX, onUnsafe: 'ignore' })
    open.push(store, { close: async () => client.disconnect() })
    await store.ready()
    const requests = [sampleRequest(), sampleRequest()]
    const response = { status: 201, sealed: Uint8Array.of(0, 255, 128, 10) }
    await Promise.all(
      requests.map((request) => takeAndFinish(store, request, sampleFinish({ response }))),
    )
    for (const request of requests) {
      const { record } = await expectFound(store, request.id)
      expect(Buffer.from(record.response?.sealed ?? [])).toEqual(Buffer.from(response.sealed))
    }

    expect((await store.list({ limit: 100 })).records).not.toEqual([])
  })

  it('says that Redis failed where the app has a MULTI open on the connection', async () => {
    const client = new Redis(server.url)
    const store = redisStore(client, { prefix: PREFIX, onUnsafe: 'ignore' })
    open.push(store, { close: async () => client.disconnect() })
    const request = sampleRequest()
    const { claim } = await take(store, request)
    await client.multi({ pipeline: false })
    const renewed = failure(store.renew(claim, 60_000))
    const finished = failure(store.finish(claim, sampleFinish()))
    const claimed = failure(store.claim(sampleRequest()))
    await Promise.all([renewed, finished, claimed])
    await client.exec()
    for (const error of [await renewed, await finished, await claimed]) {
      expect(error).toMatchObject({ code: 'idempotency-store-unavailable' })
    }

    // The queued command has finished the record; the store that tries again hears so.
    expect(await store.finish(claim, sampleFinish())).toBe(true)
  })

  it('refuses a client that it does not know, and a prefix with a brace', () => {
    const client = createClient()

    // @ts-expect-error Not a client at all.
    expect(() => redisStore({})).toThrow(/takes a connected client of node-redis or ioredis/)
    expect(() => redisStore(client, { prefix: 'a{b' })).toThrow(/brace/)
  })

  it('refuses to go on listing from a text that no page gave', async () => {
    const store = await storeOn(nodeRedisDriver)

    const error = await failure(store.list({ limit: 1, after: 'nonsense' }))
    expect(error).toMatchObject({ code: 'reprise-options-invalid' })
  })

  it('recognises a claim whose reply was lost', async () => {
    const store = await storeOn(ioredisDriver)
    const request = sampleRequest()
    await take(store, request)
    await takeAndFinish(store, request)

    expect(await store.claim(rivalOf(request))).toMatchObject({ outcome: 'replay' })
  })
})

/** Watches the record; `woken` resolves with the first waking. */
async function startWatching(
  store: Store,
  id: string,
): Promise<{ readonly woken: Promise<void>; readonly unwatch: Unwatch }> {
  let wake = () => {}
  const woken = new Promise<void>((resolve) => {
    wake = resolve
  })
  const unwatch = (await store.watch?.(id, wake)) ?? (() => {})
  return { woken, unwatch }
}

/** The error that the work fails with. */
async function failure(work: Promise<unknown>): Promise<Error & { readonly code: string }> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!isRepriseError(error)) throw new Error('The work did not fail as it ought to.')
  return error
}

/** Names of the commands that clients send meanwhile; what scripts call does not count. */
async function commandsDuring(
  server: OwnServer,
  act: () => Promise<unknown>,
): Promise<readonly string[]> {
  const client = new Redis(server.url)
  // Answered when the client has asked what it asks of a server at first, which is not to be seen.
  await client.ping()
  const monitor = await client.monitor()
  const commands: string[] = []
  const isOver = new Promise<void>((resolve) => {
    monitor.on('monitor', (_time: string, [name = '', text]: string[], source: string) => {
      if (text === 'the end') resolve()
      else if (source !== 'lua') commands.push(name)
    })
  })
  await act()
  await client.echo('the end')
  await isOver
  monitor.disconnect()
  client.disconnect()
  return commands
}

async function publishedOf(server: OwnServer): Promise<number> {
  const stats = String(await server.send('info', 'commandstats'))
  return Number(/cmdstat_publish:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

/** Resolves when the channel has that many subscribers; the server has no signal for it. */
async function subscribers(server: OwnServer, channel: string, count: number): Promise<void> {
  for (;;) {
    const reply = await server.send('pubsub', 'numsub', channel)
    if (Array.isArray(reply) && Number(reply[1]) === count) return
    await turn()
  }
}
