import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { expect, inject, it, vi } from 'vitest'
import type { RedisClient } from '../../src/stores/redis/connect.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { sampleRequest } from '../../src/testing/contract/sample.ts'
import { countDeaths } from '../hostile/wires/deaths.ts'
import { openWireProxy } from '../hostile/wires/proxy.ts'
import { deletePrefix, redisUrl, temporaryPrefix } from '../support/redis.ts'

interface Opened {
  readonly client: RedisClient
  close(): void
}

/** Clients of an app that does not listen for errors. */
const DRIVERS: readonly [string, (url: string) => Promise<Opened>][] = [
  [
    'node-redis',
    async (url) => {
      const client = createClient({ url })
      await client.connect()
      return { client, close: () => client.destroy() }
    },
  ],
  [
    'ioredis',
    async (url) => {
      const client = new Redis(url)
      return { client, close: () => client.disconnect() }
    },
  ],
]

it.skipIf('missing' in inject('redis')).each(DRIVERS)(
  'a connection of %s that breaks fails no more than the command on it, and the process lives',
  async (name, open) => {
    const { hostname, port } = new URL(redisUrl() ?? '')
    let isCutting = false
    const proxy = await openWireProxy({
      ...{ protocol: 'redis', host: hostname, port: Number(port || 6379) },
      decide({ from }) {
        if (!isCutting || from === 'client') return { do: 'pass' }
        isCutting = false
        return { do: 'cut', where: 'before', how: 'reset' }
      },
    })
    const deaths = countDeaths()
    // ioredis prints what nobody listens for.
    vi.spyOn(console, 'error').mockReturnValue()
    const prefix = temporaryPrefix()
    const { client, close } = await open(`redis://127.0.0.1:${proxy.port}`)
    try {
      const store = redisStore(client, { prefix, onUnsafe: 'ignore' })
      await store.ready()
      isCutting = true
      const request = sampleRequest()
      const cut = await store.claim(request).catch((error: unknown) => error)
      const granted = await store.claim(sampleRequest())
      await store.close()

      expect(deaths.errors).toEqual([])
      // ioredis sends the command again by itself; the owner of the claim is known by its name.
      expect(cut).toMatchObject(
        name === 'ioredis' ? { outcome: 'execute' } : { code: 'idempotency-store-unavailable' },
      )
      expect(granted.outcome).toBe('execute')
    } finally {
      close()
      deaths.restore()
      await proxy.close()
      await deletePrefix(prefix)
    }
  },
)
