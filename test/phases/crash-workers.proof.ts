import { describe, expect, it } from 'vitest'
import { KILLING_MS, others, ticksOf, warmNodes } from './crash-points.ts'
import { ONCE, useRides, userNames } from './ride-world.ts'

describe('a worker that is killed at every exchange with the outside', () => {
  const world = useRides()

  it('leaves it to another one, which finishes', { timeout: KILLING_MS }, async () => {
    const { port } = await world.startProvider()
    const next = warmNodes(() => world.startNode({ provider: port }))
    const server = next()
    /** A request that gets no further than its first phase: the user is not there yet. */
    const abandon = async (user: string) => {
      expect((await server.ride(user)).outcome).toBe('threw')
      await world.addUsers([user])
    }
    await abandon('c-1@example.com')
    const ticks = await ticksOf(next(), { kind: 'work', at: 0, act: 'kill' })
    expect(ticks).toEqual(expect.arrayContaining(['after reprise_settle_jobs 1', 'after charge 1']))

    const users = userNames('c', ticks.length)
    for (const [index, user] of users.slice(1).entries()) {
      await abandon(user)
      const worker = next()
      worker.order({ kind: 'work', at: index + 2, act: 'kill' })
      expect(await worker.child.gone, ticks[index + 1]).toEqual([null, 'SIGKILL'])
    }
    await world.lapse()
    const last = next()
    while ((await last.work()) > 0);
    expect(others(await world.effects(), users, ONCE)).toEqual([])
    for (const user of users) {
      expect(await last.ride(user)).toMatchObject({ outcome: 'replayed', status: 201 })
    }
    const letters = await world.pool.query('select from reprise.dead_letters')
    expect(letters.rowCount).toBe(0)
    console.log(`Killed at ${ticks.length} points of the workers.`)
  })
})
