import { describe } from 'vitest'
import { redisUrl } from '../support/redis.ts'
import { describeContract, describeDifferential } from './describe.ts'
import { ioredisDriver, nodeRedisDriver, redisHarness } from './redis.harness.ts'

const url = redisUrl()

describe.skipIf(url === undefined)('on one server', () => {
  const where = url ?? ''
  const alone = [nodeRedisDriver, ioredisDriver]
  for (const { name, open } of alone) {
    describeContract(`the Redis store on ${name}`, () => redisHarness({ where, open }))
    describeDifferential(`the Redis store on ${name}`, () => redisHarness({ where, open }))
  }
  describeContract('the Redis store on node-redis beside ioredis', () =>
    redisHarness({ where, open: nodeRedisDriver.open, openPeer: ioredisDriver.open }),
  )
})
