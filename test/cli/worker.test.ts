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
    await world.sql(`drop table ${world.schema}.dead_letters`)
    expect((await world.on(['worker', '--once', '--only', 'completer'])).exit).toBe(1)
  })

  test('C-34 ends in good order on SIGTERM', async () => {
    await world.up()
    const interrupt = new AbortController()
    const running = world.on(['worker', '--only', 'reaper'], {
      interrupt,
      onOutput: (text) => text.startsWith('Runs on') && interrupt.abort('SIGTERM'),
    })
    const { exit, stdout } = await running
    expect([exit, stdout]).toEqual([0, expect.stringContaining('Stopped.')])
  })
})
