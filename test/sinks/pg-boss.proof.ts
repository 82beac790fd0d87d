import PgBoss from 'pg-boss'
import { describe, expect, it, onTestFinished } from 'vitest'
import { pgBossSink } from '../../src/sinks/pg-boss.ts'
import { freshNode } from '../workers/world.ts'
import { describeAtomic } from './atomic.ts'
import { onPostgresJs } from './clients.ts'
import { describeSink, enqueuerOf, type SinkSpec, type World } from './contract.ts'

async function startBoss({ database }: World): Promise<PgBoss> {
  const boss = new PgBoss({
    ...{ connectionString: database.url, supervise: false, schedule: false, max: 2 },
  })
  boss.on('error', () => {})
  await boss.start()
  onTestFinished(() => boss.stop({ graceful: false, wait: true }))
  return boss
}

async function open(world: World) {
  const boss = await startBoss(world)
  await boss.createQueue('receipt')
  return {
    sink: pgBossSink(boss),
    arrived: async () => {
      // A transaction has one time for all that it enqueues.
      const { rows } = await world.pool.query(
        'select id, name, data from pgboss.job order by created_on, ctid',
      )
      return rows.map(({ id, name, data }) => ({ id, name, args: data }))
    },
    ...{ good: 'receipt', bad: 'nowhere', complaint: /pg-boss has no queue nowhere/ },
  }
}

const onPg: SinkSpec = { name: 'pg-boss', open, twice: 1, inDatabase: true }
const onSql: SinkSpec = { ...onPg, name: 'pg-boss on postgres.js', adapt: onPostgresJs }
for (const spec of [onPg, onSql]) {
  describeSink(spec)
  describeAtomic(spec)
}

describe('the sink pg-boss', () => {
  it('gives a worker what was staged, under the options that it was told', async () => {
    const world = await freshNode()
    const boss = await startBoss(world)
    await boss.createQueue('mail')
    const sink = pgBossSink(boss, { queue: () => 'mail', sendOptions: () => ({ priority: 7 }) })
    let id = ''
    await world.stageAll(async (stage) => {
      id = await stage('receipt', { to: 'a' })
    })
    await enqueuerOf(world, sink).runOnce()
    const jobs = await boss.fetch('mail', { includeMetadata: true })
    expect(jobs).toMatchObject([{ id, data: { to: 'a' }, priority: 7 }])

    // What was done with is not taken again.
    await boss.complete('mail', id)
    const sent = await boss.send('mail', { to: 'a' }, { id })
    expect(sent).toBeNull()
  })
})
