import { Cluster, Redis } from 'ioredis'
import { createClient, createCluster } from 'redis'
import { type RedisClient, redisStore } from '../../src/stores/redis/index.ts'
import type { StoreHarness } from '../../src/testing/harness.ts'
import { temporaryPrefix } from '../support/redis.ts'
import type { Disposable } from './describe.ts'

/** Sends a command to the server that holds the key. */
type Send = (key: string, command: readonly string[]) => Promise<unknown>

/** A client of a driver, with what the harness needs beside the store. */
export interface OpenClient {
  readonly client: RedisClient
  readonly send: Send
  /** One for each server that holds keys of its own. */
  servers(): Promise<readonly ((command: readonly string[]) => Promise<unknown>)[]>
  close(): Promise<void>
}

/** One server by its URL, or a cluster by the ports of its servers on this machine. */
export type Where = string | readonly number[]

/** A driver that the store claims to work with. */
export interface Driver {
  readonly name: string
  open(where: Where): Promise<OpenClient>
}

export const nodeRedisDriver: Driver = {
  name: 'node-redis',
  open: (where) => (typeof where === 'string' ? nodeRedis(where) : nodeRedisCluster(where)),
}

export const ioredisDriver: Driver = {
  name: 'ioredis',
  open: (where) => (typeof where === 'string' ? ioredis(where) : ioredisCluster(where)),
}

async function nodeRedis(url: string): Promise<OpenClient> {
  const client = createClient({ url })
  client.on('error', () => {})
  await client.connect()
  return {
    client,
    send: (_key, command) => client.sendCommand(command),
    servers: async () => [(command) => client.sendCommand(command)],
    close: () => client.close(),
  }
}

async function nodeRedisCluster(ports: readonly number[]): Promise<OpenClient> {
  const rootNodes = ports.map((port) => ({ url: `redis://127.0.0.1:${port}` }))
  const client = createCluster({ rootNodes })
  client.on('error', () => {})
  await client.connect()
  return {
    client,
    send: (key, command) => client.sendCommand(key, false, [...command]),
    servers: () =>
      Promise.all(
        client.masters.map(async (node) => {
          const server = await client.nodeClient(node)
          return (command: readonly string[]) => server.sendCommand(command)
        }),
      ),
    close: () => client.close(),
  }
}

async function ioredis(url: string): Promise<OpenClient> {
  const client = new Redis(url)
  client.on('error', () => {})
  const send = ([name = '', ...args]: readonly string[]) => client.call(name, args)
  return {
    client,
    send: (_key, command) => send(command),
    servers: async () => [send],
    close: async () => void (await client.quit()),
  }
}

async function ioredisCluster(ports: readonly number[]): Promise<OpenClient> {
  const client = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })))
  client.on('error', () => {})
  return {
    client,
    send: (_key, [name = '', ...args]) => client.call(name, args),
    servers: async () =>
      client.nodes('master').map((node) => {
        return ([name = '', ...args]: readonly string[]) => node.call(name, args)
      }),
    close: async () => void (await client.quit()),
  }
}

/** Puts all instants of a record, or of keys that count, back; who waits has none. What is finished and expired stays, for `sweep` to find. */
const SHIFT = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ms = tonumber(ARGV[1])
local kind = redis.call('TYPE', KEYS[1]).ok
if kind == 'hash' then
  for _, field in ipairs({ 'leaseUntil', 'createdAt', 'expiresAt' }) do
    local instant = redis.call('HGET', KEYS[1], field)
    if instant then redis.call('HSET', KEYS[1], field, instant - ms) end
  end
elseif kind == 'string' and string.sub(KEYS[1], -1) == '}' then
  local record = { cmsgpack.unpack(redis.call('GET', KEYS[1])) }
  record[5] = record[5] - ms
  redis.call('SET', KEYS[1], cmsgpack.pack(unpack(record)))
  local expiresAt = record[5] + record[6] + record[7]
  if expiresAt > now then redis.call('PEXPIREAT', KEYS[1], expiresAt) end
elseif kind == 'zset' then
  for _, member in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
    redis.call('ZINCRBY', KEYS[1], -ms, member)
  end
end
`

/** A store and its peer on clients of their own, under a prefix of their own. */
export async function redisHarness({
  where,
  open,
  openPeer = open,
}: {
  readonly where: Where
  readonly open: Driver['open']
  /** @default open */
  readonly openPeer?: Driver['open']
}): Promise<StoreHarness & Required<Disposable>> {
  const prefix = temporaryPrefix()
  const [mine, peers] = [await open(where), await openPeer(where)]
  const store = redisStore(mine.client, { prefix, onUnsafe: 'ignore' })
  const peer = redisStore(peers.client, { prefix, onUnsafe: 'ignore' })
  await Promise.all([store.ready(), peer.ready()])
  return {
    store,
    peer,
    listsOnce: false,
    advance: async (ms, ids) => {
      const keys = ids?.map((id) => `${prefix}{${id}}`) ?? (await keysOf(mine, `${prefix}{*`))
      await Promise.all(keys.map((key) => mine.send(key, ['eval', SHIFT, '1', key, `${ms}`])))
    },
    dispose: async () => {
      const keys = await keysOf(mine, `${prefix}*`)
      await Promise.all(keys.map((key) => mine.send(key, ['del', key])))
      await Promise.all([store.close(), peer.close()])
      await Promise.all([mine.close(), peers.close()])
    },
  }
}

/** The keys that match, of all servers. Blocks the server, which only a test may do. */
async function keysOf({ servers }: OpenClient, pattern: string): Promise<readonly string[]> {
  const replies = await Promise.all((await servers()).map((server) => server(['keys', pattern])))
  return replies.flatMap((reply) => (Array.isArray(reply) ? reply.map(String) : []))
}
