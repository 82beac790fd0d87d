/**
 * Recognises the driver.
 *
 * @module
 */

import type { RepriseError } from '../../core/errors.ts'
import { said } from '../../core/known-options.ts'
import { invalid } from '../../core/options.ts'
import { NODE_REDIS, unsupported } from '../../core/versions.ts'
import type { Connection } from './client.ts'
import {
  type IoredisClient,
  type IoredisCluster,
  ioredisClusterConnection,
  ioredisConnection,
} from './clients/ioredis.ts'
import {
  type NodeRedisClient,
  type NodeRedisCluster,
  nodeRedisClusterConnection,
  nodeRedisConnection,
} from './clients/node-redis.ts'

/** A connected client: of node-redis, ioredis or iovalkey, for one server or for a cluster. */
export type RedisClient = NodeRedisClient | NodeRedisCluster | IoredisClient | IoredisCluster

/**
 * The connection behind a client, which is recognised by its shape.
 *
 * @throws RepriseError `reprise-options-invalid`, `reprise-version-unsupported`
 */
export function connectionOf(client: RedisClient): Connection {
  if (typeof client !== 'object' || client === null) throw unfit(client)
  if ('callBuffer' in client) {
    if (client.options.keyPrefix) {
      throw invalid('the client of redisStore() has a keyPrefix: use the option prefix instead')
    }
    return 'nodes' in client ? ioredisClusterConnection(client) : ioredisConnection(client)
  }
  // Its commands take callbacks and give no promises.
  if ('send_command' in client) throw unsupported(NODE_REDIS, 'of version 3 or older')
  if ('masters' in client) return nodeRedisClusterConnection(client)
  if ('sendCommand' in client && 'duplicate' in client) return nodeRedisConnection(client)
  throw unfit(client)
}

function unfit(client: unknown): RepriseError {
  return invalid(
    `redisStore() takes a connected client of node-redis or ioredis, not ${said(client)}: give redisStore(await createClient({ url }).connect())`,
  )
}
