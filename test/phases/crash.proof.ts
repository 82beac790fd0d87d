import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { KILLING_MS, others, TICKS_MAX, ticksOf, warmNodes } from './crash-points.ts'
import type { Answer } from './ride-node.ts'
import { ONCE, type RideNode, type RideWorld, useRides, userNames } from './ride-world.ts'

const RETRIES_MAX = 20

/** A client that does not give up. */
async function insist(world: RideWorld, node: RideNode, user: string): Promise<Answer> {
  for (let attempt = 0; attempt < RETRIES_MAX; attempt++) {
    const answer = await node.ride(user)
    if (answer.status !== null) return answer
    expect(answer.outcome).toBe('in_progress')
    await world.lapse()
  }
  throw new Error(`${user} never had an answer.`)
}

describe('the ride', () => {
  it('takes at most 60 lines of user code', () => {
    const text = readFileSync(join(import.meta.dirname, 'ride.ts'), 'utf8')
    const lines = text.split('\n').filter((line) => line.trim() !== '')
    expect(lines.length).toBeLessThanOrEqual(60)
  })
})

describe('a process that is killed at every exchange with the outside', () => {
  const world = useRides()

  it('and the client sends its request again', { timeout: KILLING_MS }, async () => {
    const { port } = await world.startProvider()
    const start = () => world.startNode({ provider: port })
    const next = warmNodes(start)
    const server = start()
    await world.addUsers(['count-a@example.com', ...userNames('a', TICKS_MAX)])
    const order = { kind: 'ride', key: 'count', at: 0, act: 'kill' } as const
    const ticks = await ticksOf(next(), { ...order, user: 'count-a@example.com' })
    expect(ticks.length).toBeGreaterThanOrEqual(30)
    expect(ticks.length).toBeLessThanOrEqual(TICKS_MAX)

    const users = userNames('a', ticks.length)
    const answers: Answer[] = []
    for (const [index, user] of users.entries()) {
      const node = next()
      node.order({ ...order, user, key: `ride of ${user}`, at: index + 1 })
      expect(await node.child.gone, ticks[index]).toEqual([null, 'SIGKILL'])
      answers.push(await insist(world, server, user))
    }
    while ((await server.work()) > 0);

    const found = await world.effects()
    expect(others(found, users, ONCE)).toEqual([])
    expect(answers.map(({ status }) => status)).toEqual(users.map(() => 201))
    // What was committed before the process died is replayed, not done again.
    const committed = ticks.indexOf('after commit 3')
    expect(committed).toBeGreaterThan(0)
    expect(answers.slice(committed).map(({ outcome }) => outcome)).toEqual(
      users.slice(committed).map(() => 'replayed'),
    )
    for (const [index, user] of users.entries()) {
      const again = await server.ride(user)
      expect(again).toMatchObject({ outcome: 'replayed', status: 201, body: answers[index]?.body })
    }
    console.log(`Killed at ${ticks.length} points; the client retried.`)
  })
  it('and nobody asks again: the completer finishes', { timeout: KILLING_MS }, async () => {
    const { port } = await world.startProvider()
    const next = warmNodes(() => world.startNode({ provider: port }))
    await world.addUsers(['count-b@example.com', ...userNames('b', TICKS_MAX)])
    const order = { kind: 'ride', key: 'count', at: 0, act: 'kill' } as const
    const ticks = await ticksOf(next(), { ...order, user: 'count-b@example.com' })
    expect(ticks.length).toBeGreaterThanOrEqual(30)
    const users = userNames('b', ticks.length)
    for (const [index, user] of users.entries()) {
      const node = next()
      node.order({ ...order, user, key: `ride of ${user}`, at: index + 1 })
      expect(await node.child.gone, ticks[index]).toEqual([null, 'SIGKILL'])
    }

    await world.lapse()
    const worker = next()
    while ((await worker.work()) > 0);
    const known = await world.pool.query(
      `select caller as user, status from reprise.records where caller = any ($1)`,
      [users],
    )
    // A request that died before it claimed its key is nobody's but the client's.
    const claimed = ticks.indexOf('after reprise_claim 1')
    const left = users.slice(claimed)
    expect(known.rows).toEqual(expect.arrayContaining(left.map((user) => ({ user, status: 201 }))))
    expect(known.rows.map(({ status }) => status)).toEqual(known.rows.map(() => 201))
    expect(others(await world.effects(), left, ONCE)).toEqual([])

    const server = next()
    for (const user of users) {
      const { outcome, status } = await server.ride(user)
      expect([outcome, status], user).toEqual([left.includes(user) ? 'replayed' : outcome, 201])
    }
    while ((await worker.work()) > 0);
    expect(others(await world.effects(), users, ONCE)).toEqual([])
    console.log(`Killed at ${ticks.length} points; the completer finished.`)
  })
})
