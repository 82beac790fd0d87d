import { describe, expect, it } from 'vitest'
import type { Answer } from './ride-node.ts'
import { ONCE, type RideNode, type RideWorld, useRides, userNames } from './ride-world.ts'

/** Leases lapse when the test says so, and not when the machine is busy. */
const LEASE_MS = 600_000

/** How long such a test may take on a busy machine, in milliseconds. */
const FREEZING_MS = 300_000

/** One of each of these is where the phases do their work, and where they commit it. */
const IN_EVERY_PHASE = [
  'after insert into audit_records 1',
  'sent charge 1',
  'after update rides set 1',
  'after reprise_stage 1',
  ...[1, 2, 3].flatMap((number) => [`before commit ${number}`, `after commit ${number}`]),
]

/** What nobody may move while another run has the record. */
async function standing(world: RideWorld, user: string): Promise<unknown> {
  const { rows } = await world.pool.query(
    `select r.fence, r.owner, r.recovery_point, r.lease_until, r.status, r.response, r.expires_at,
            (select count(*)::integer from reprise.staged_jobs j where j.record_id = r.id) as jobs
       from reprise.records r
      where r.caller = $1`,
    [user],
  )
  return rows[0]
}

/** Freezes a node in the middle of a ride, and has its lease lapse. */
async function freeze(
  world: RideWorld,
  node: RideNode,
  { user, at }: { user: string; at: string },
) {
  node.order({ kind: 'ride', user, key: `ride of ${user}`, at, act: 'pause' })
  expect(await node.paused()).toBe(at)
  node.child.signal('SIGSTOP')
  await world.quiet()
  await world.endIdle()
  await world.lapse(user)
}

async function thaw(node: RideNode): Promise<Answer> {
  node.child.signal('SIGCONT')
  return node.goOn()
}

/** The same answer, or one that has the client ask again. */
function expectHarmless(zombie: Answer, { status, body }: Answer, at: string): void {
  if (zombie.status === null)
    expect(['in_progress', 'postponed'], `${at} ${zombie.body}`).toContain(zombie.outcome)
  else expect([zombie.status, zombie.body], at).toEqual([status, body])
}

/** A zombie and a successor, both warm, and everywhere that the zombie can be frozen. */
async function contenders(world: RideWorld, prefix: string) {
  const { port } = await world.startProvider()
  const start = () => world.startNode({ provider: port, leaseMs: LEASE_MS })
  const [zombie, successor] = [start(), start()]
  const warmers = userNames(`${prefix}-warm`, 3)
  await world.addUsers(warmers)
  const [first = '', second = '', third = ''] = warmers
  await successor.ride(first)
  await zombie.ride(second)
  const { ticks } = await zombie.ride(third)
  expect(ticks).toEqual(expect.arrayContaining(IN_EVERY_PHASE))
  const users = userNames(prefix, ticks.length)
  await world.addUsers(users)
  return { zombie, successor, users, ticks }
}

describe('a process that is frozen past its lease, at every exchange with the outside', () => {
  const world = useRides()

  it('while a successor finishes: it changes nothing', { timeout: FREEZING_MS }, async () => {
    const { zombie, successor, users, ticks } = await contenders(world, 'after')
    for (const [index, at] of ticks.entries()) {
      const user = users[index] ?? ''
      await freeze(world, zombie, { user, at })
      const answer = await successor.ride(user)
      expect(answer.status, at).toBe(201)
      const before = await standing(world, user)
      expectHarmless(await thaw(zombie), answer, at)
      expect(await standing(world, user), at).toEqual(before)
      expect(await zombie.ride(user), at).toMatchObject({ outcome: 'replayed', body: answer.body })
    }
    while ((await successor.work()) > 0);
    const effects = await world.effects()
    expect(users.map((user) => effects.get(user))).toEqual(users.map(() => ONCE))
    console.log(`Frozen at ${ticks.length} points; the successor had finished.`)
  })

  it('while a successor is at work: it takes nothing from it', {
    timeout: FREEZING_MS,
  }, async () => {
    const { zombie, successor, users, ticks } = await contenders(world, 'amid')
    const committed = ticks.indexOf('sent commit 3')
    for (const [index, at] of ticks.slice(0, committed).entries()) {
      const user = users[index] ?? ''
      await freeze(world, zombie, { user, at })
      const claimed = 'after reprise_claim 1'
      const key = `ride of ${user}`
      successor.order({ kind: 'ride', user, key, at: claimed, act: 'pause' })
      expect(await successor.paused(), at).toBe(claimed)
      const before = await standing(world, user)
      const { outcome, status } = await thaw(zombie)
      expect(['in_progress', 'postponed'], at).toContain(outcome)
      expect(status, at).toBeNull()
      expect(await standing(world, user), at).toEqual(before)
      expect(await successor.goOn(), at).toMatchObject({ status: 201 })
    }
    while ((await successor.work()) > 0);
    const effects = await world.effects()
    const ridden = users.slice(0, committed)
    expect(ridden.map((user) => effects.get(user))).toEqual(ridden.map(() => ONCE))
    console.log(`Frozen at ${committed} points; the successor was at work.`)
  })
})
