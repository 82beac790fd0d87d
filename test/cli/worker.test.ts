import { describe, expect, test } from 'vitest'
import { DatabaseWorld } from './world.ts'

const world = new DatabaseWorld()

describe('C-34 worker', () => {
  test('C-34 --once runs each and is 0; --only takes some, and refuses others', async () => {
    await world.up()
    await world.record({ age: '2 days', status: 201, expired: '1 day' })
    const { exit, document } = await world.on(['worker', '--once', '--only', 'reaper', '--json'])
    expect([exit, document]).toEqual([0, { runs: [{ worker: 'reaper', done: 1, error: null }] }])
    expect((await world.on(['worker', '--once', '--only', 'nobody'])).exit).toBe(2)
    const sinkless = await world.on(['worker', '--once', '--only', 'enqueuer'])
    expect([sinkless.exit, sinkless.stderr.includes('no sink')]).toEqual([2, true])
  })

  test('C-34 --once is 1 when a run fails', async () => {
    await world.up()
    await world.sql(`drop table ${world.schema}.dead_letters cascade`)
    expect((await world.on(['worker', '--once', '--only', 'completer'])).exit).toBe(1)
  })

  test('C-34 ends in good order on SIGTERM: the run at hand comes to its end', async () => {
    await world.up()
    await world.record({ age: '2 days', status: 201, expired: '1 day' })
    // The first run of the reaper waits for this transaction.
    const holder = await world.pool.connect()
    await holder.query(`begin; lock table ${world.schema}.records in access exclusive mode`)
    const isWaiting = async () => {
      const { rowCount } = await world.sql(
        `select from pg_locks where not granted and relation = '${world.schema}.records'::regclass`,
      )
      return (rowCount ?? 0) > 0
    }
    const interrupt = new AbortController()
    let isPatient = false
    const running = world.on(['worker', '--only', 'reaper', '--grace', '2m', '--json'], {
      interrupt,
      onOutput: (text) => {
        isPatient ||= text.includes('SIGTERM: waits for the runs at hand')
      },
    })
    await expect.poll(isWaiting).toBe(true)
    interrupt.abort('SIGTERM')
    await new Promise((resolve) => setImmediate(resolve))
    await holder.query('commit')
    holder.release()
    const { exit, document } = await running
    expect([exit, document]).toEqual([0, { done: { enqueuer: 0, completer: 0, reaper: 1 } }])
    expect(isPatient).toBe(true)
  })
})
