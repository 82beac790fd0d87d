import { Queue } from 'bullmq'
import { Redis } from 'ioredis'
import { describe, expect, it, onTestFinished } from 'vitest'
import { bullmqSink } from '../../src/sinks/bullmq.ts'
import { openDoor } from '../support/door.ts'
import { deletePrefix, redisUrl, temporaryPrefix } from '../support/redis.ts'
import { freshNode, jobRows } from '../workers/world.ts'
import { describeSink, enqueuerOf } from './contract.ts'

const url = redisUrl()

/** A queue under a prefix of the test's own. */
function queue(at: string, prefix: string): Queue {
  const connection = new Redis(at, { retryStrategy: () => 50, maxRetriesPerRequest: 2 })
  connection.on('error', () => {})
  const made = new Queue('jobs', { connection, prefix })
  made.on('error', () => {})
  onTestFinished(async () => {
    await made.close()
    connection.disconnect()
  })
  return made
}

async function open() {
  const prefix = temporaryPrefix()
  onTestFinished(() => deletePrefix(prefix))
  const door = await openDoor(url ?? '')
  const through = queue(door.url, prefix)
  const direct = queue(url ?? '', prefix)
  return {
    sink: bullmqSink(({ name }) => (name === 'bad' ? undefined : through)),
    arrived: async () => {
      const jobs = await direct.getJobs(['waiting', 'prioritized'], 0, -1, true)
      return jobs.map(({ id = '', name, data }) => ({ id, name, args: data }))
    },
    ...{ good: 'receipt: send', bad: 'bad', complaint: /No queue takes jobs named bad/, door },
  }
}

describeSink({ name: 'bullmq', skip: url === undefined, open, twice: 1 })

describe.skipIf(url === undefined)('the sink bullmq', () => {
  it('gives one queue what it takes, with further options, and blames what is too large', async () => {
    const world = await freshNode()
    const prefix = temporaryPrefix()
    onTestFinished(() => deletePrefix(prefix))
    const jobs = queue(url ?? '', prefix)
    const addOptions = () => ({ sizeLimit: 100, priority: 5 })
    const worker = enqueuerOf(world, bullmqSink(jobs, { addOptions }))
    await world.stageAll(async (stage) => {
      await stage('small', 'a')
      await stage('large', 'a'.repeat(1000))
    })
    expect(await worker.runOnce()).toBe(1)
    expect(await jobs.getJobs(['prioritized'])).toMatchObject([
      { name: 'small', data: 'a', opts: { priority: 5 } },
    ])
    expect(await jobRows(world)).toMatchObject([
      { name: 'large', last_error: expect.stringContaining('size') },
    ])
  })
})
