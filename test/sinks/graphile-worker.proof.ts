import { Logger, makeWorkerUtils, runOnce } from 'graphile-worker'
import { describe, expect, it } from 'vitest'
import { graphileWorkerSink } from '../../src/sinks/graphile-worker.ts'
import { freshNode, jobRows } from '../workers/world.ts'
import { describeAtomic } from './atomic.ts'
import { onPostgresJs } from './clients.ts'
import { describeSink, enqueuerOf, type SinkSpec, type World } from './contract.ts'

/** Says nothing. */
const logger = new Logger(() => () => {})

async function migrate({ pool }: World): Promise<void> {
  const utils = await makeWorkerUtils({ pgPool: pool, logger })
  await utils.migrate()
  await utils.release()
}

async function open(world: World) {
  await migrate(world)
  return {
    sink: graphileWorkerSink(),
    arrived: async () => {
      const { rows } = await world.pool.query(
        `select j.key as id, t.identifier as name, j.payload as args
           from graphile_worker._private_jobs j
           join graphile_worker._private_tasks t on t.id = j.task_id
          order by j.id`,
      )
      return rows
    },
    // Names of tasks have at most 128 characters.
    ...{ good: 'send_receipt', bad: 'x'.repeat(129), complaint: /tasks_identifier_check/ },
  }
}

const onPg: SinkSpec = { name: 'graphile-worker', open, twice: 1, inDatabase: true }
const onSql: SinkSpec = { ...onPg, name: 'graphile-worker on postgres.js', adapt: onPostgresJs }
for (const spec of [onPg, onSql]) {
  describeSink(spec)
  describeAtomic(spec)
}

describe('the sink graphile-worker', () => {
  it('gives a worker what was staged, under the options that it was told', async () => {
    const world = await freshNode()
    await migrate(world)
    const sink = graphileWorkerSink({
      ...{ task: () => 'mail', spec: () => ({ queueName: 'q', maxAttempts: 2, priority: -1 }) },
    })
    let id = ''
    await world.stageAll(async (stage) => {
      id = await stage('receipt', { to: 'a' })
    })
    await enqueuerOf(world, sink).runOnce()
    const seen: unknown[] = []
    await runOnce({
      ...{ pgPool: world.pool, logger },
      taskList: {
        mail: async (payload, { job }) => {
          const { key, max_attempts: attempts, priority } = job
          seen.push({ payload, key, attempts, priority, isQueued: job.job_queue_id !== null })
        },
      },
    })
    expect(seen).toEqual([
      { payload: { to: 'a' }, key: id, attempts: 2, priority: -1, isQueued: true },
    ])
  })

  it('is down, and no job to blame, while the queue is not installed', async () => {
    const world = await freshNode()
    await world.stageAll((stage) => stage('receipt', { to: 'a' }))
    const worker = enqueuerOf(world, graphileWorkerSink())
    await expect(worker.runOnce()).rejects.toThrow('The sink graphile-worker is down')
    expect(await jobRows(world)).toMatchObject([{ attempts: 0 }])
    await migrate(world)
    expect(await worker.runOnce()).toBe(1)
  })
})
