/** @module */
export type {
  IoredisClient,
  IoredisCluster,
  IoredisListener,
  IoredisOptions,
} from './clients/ioredis.ts'
export type {
  NodeRedisClient,
  NodeRedisCluster,
  NodeRedisCommandOptions,
  NodeRedisListener,
} from './clients/node-redis.ts'
export type { RedisClient } from './connect.ts'
export type { OnUnsafe, RedisStoreOptions } from './options.ts'
export { redisStore } from './store.ts'
