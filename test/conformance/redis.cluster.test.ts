import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sampleFinish, sampleRequest, takeAndFinish } from '../../src/testing/contract/sample.ts'
import { isRedisMissing, type OwnServer, startCluster } from '../stores/redis-servers.ts'
import { describeContract, describeDifferential } from './describe.ts'
import { ioredisDriver, nodeRedisDriver, redisHarness } from './redis.harness.ts'

describe.skipIf(isRedisMissing())('on a cluster of three', () => {
  let servers: readonly OwnServer[] = []
  let stop = async () => {}

  beforeAll(async () => {
    ;({ servers, stop } = await startCluster())
  })
  afterAll(() => stop())

  for (const { name, open } of [nodeRedisDriver, ioredisDriver]) {
    const make = () => redisHarness({ where: servers.map(({ port }) => port), open })
    describeContract(`the Redis store on ${name}`, make)
    describeDifferential(`the Redis store on ${name}`, make)

    it(`spreads records over all servers on ${name}`, async () => {
      const { store, dispose } = await make()
      const requests = Array.from({ length: 60 }, () => sampleRequest())
      await Promise.all(requests.map((request) => takeAndFinish(store, request, sampleFinish())))

      const sizes = await Promise.all(servers.map((server) => server.send('dbsize')))
      expect(sizes.map(Number).every((size) => size > 0)).toBe(true)
      await dispose()
    })
  }
})
