import { describe, expect, it } from 'vitest'
import type { Answer } from './ride-node.ts'
import { type Effects, ONCE, type RideNode, type RideWorld, useRides } from './ride-world.ts'

/** How long the load lasts, in seconds. */
const LOAD_SECONDS = Number(process.env['REPRISE_LOAD_SECONDS'] ?? 12)
const CLIENTS = 24
/** How long it may take until all is settled, in milliseconds. */
const SETTLED_MS = 60_000
const LEASE_MS = 1500
const COMPLETER = { graceMs: 300, retryMs: 100, retryMsMax: 1000 }

const DECLINED: Effects = { rides: 1, audits: 1, charges: 0, receipts: 0 }

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A place where a node runs; when it is killed, another one takes it. */
class Slot {
  kills = 0
  readonly #start: () => RideNode
  #node: RideNode | undefined
  #asked = new Map<string, (answer: Answer | undefined) => void>()

  constructor(start: () => RideNode) {
    this.#start = start
    this.#node = this.#boot()
  }

  /** Asks for a ride; `undefined` when the node died and nobody answered. */
  async ride(user: string): Promise<Answer | undefined> {
    const key = `ride of ${user}`
    const node = this.#node
    if (node === undefined) return undefined
    return new Promise((resolve) => {
      this.#asked.set(key, resolve)
      node.order({ kind: 'ride', user, key, at: 0, act: 'kill' })
    })
  }

  async kill(): Promise<void> {
    const node = this.#node
    this.#node = undefined
    this.kills++
    await node?.child.kill()
    this.#node = this.#boot()
  }

  #boot(): RideNode {
    const node = this.#start()
    const asked = new Map<string, (answer: Answer | undefined) => void>()
    this.#asked = asked
    const hear = async () => {
      for (;;) {
        const message = await node.child.message()
        if (message.kind !== 'answer') continue
        asked.get(message.key)?.(message)
        asked.delete(message.key)
      }
    }
    hear().catch(() => {
      for (const resolve of asked.values()) resolve(undefined)
    })
    return node
  }
}

/** What the clients saw. */
interface Seen {
  readonly users: string[]
  /** First final answer of each user. */
  readonly answers: Map<string, Answer>
  readonly outcomes: Map<string, number>
}

/** One client after the other in one lane: most insist, some go away after the first try. */
async function lane(slots: readonly Slot[], seen: Seen, next: () => Promise<string | undefined>) {
  for (let user = await next(); user !== undefined; user = await next()) {
    const tries = Math.random() < 0.3 ? 1 : 100
    for (let attempt = 0; attempt < tries; attempt++) {
      const answer = await slots[Math.floor(Math.random() * slots.length)]?.ride(user)
      const outcome = answer?.outcome ?? 'nobody answered'
      seen.outcomes.set(outcome, (seen.outcomes.get(outcome) ?? 0) + 1)
      if (answer !== undefined && answer.status !== null) {
        seen.answers.set(user, answer)
        break
      }
      await pause(50 + 150 * Math.random())
    }
  }
}

async function unsettled(world: RideWorld): Promise<number> {
  const { rows } = await world.pool.query(
    `select (select count(*) from reprise.records where status is null)::integer
          + (select count(*) from reprise.staged_jobs)::integer as left`,
  )
  return rows[0].left
}

describe('two nodes with all workers, killed at random, and a provider that fails at random', () => {
  const world = useRides()

  it('lose nothing, repeat nothing, and settle', {
    timeout: LOAD_SECONDS * 1000 + 120_000,
  }, async () => {
    const provider = await world.startProvider()
    await provider.set('random')
    const start = () =>
      world.startNode({
        ...{ provider: provider.port, leaseMs: LEASE_MS, completer: COMPLETER, works: true },
      })
    const slots = [new Slot(start), new Slot(start)]
    const seen: Seen = { users: [], answers: new Map(), outcomes: new Map() }
    const until = performance.now() + LOAD_SECONDS * 1000
    const next = async () => {
      if (performance.now() > until) return undefined
      const kind = Math.random() < 0.05 ? 'bad-source' : 'good'
      const user = `${kind}-${seen.users.length + 1}@example.com`
      seen.users.push(user)
      await world.addUsers([user])
      return user
    }
    const reign = async () => {
      while (performance.now() < until) {
        await pause(800 + 1700 * Math.random())
        await slots[Math.floor(Math.random() * slots.length)]?.kill()
      }
    }
    const lanes = Array.from({ length: CLIENTS }, () => lane(slots, seen, next))
    await reign()
    await provider.set('none')
    await Promise.all(lanes)

    const healthyAt = performance.now()
    await expect.poll(() => unsettled(world), { timeout: SETTLED_MS, interval: 100 }).toBe(0)
    const settledMs = Math.round(performance.now() - healthyAt)
    // Whoever never reached a node, or went away, asks now: the answer is there, and stays.
    for (const user of seen.users) {
      const answer = await slots[0]?.ride(user)
      const expected = user.startsWith('bad') ? 402 : 201
      expect([user, answer?.status]).toEqual([user, expected])
      const first = seen.answers.get(user)
      if (first !== undefined) expect(answer?.body).toBe(first.body)
    }
    await expect.poll(() => unsettled(world), { timeout: SETTLED_MS, interval: 100 }).toBe(0)

    const effects = await world.effects()
    const wrong = seen.users
      .map((user) => [user, effects.get(user), user.startsWith('bad') ? DECLINED : ONCE] as const)
      .filter(([, found, expected]) => JSON.stringify(found) !== JSON.stringify(expected))
    expect(wrong).toEqual([])
    const { rows: letters } = await world.pool.query(
      'select caller, cause, error from reprise.dead_letters',
    )
    expect(letters).toEqual([])

    const { rows } = await world.pool.query(
      `select count(*) filter (where starts_with(actor, 'completer'))::integer as completed,
              (select count(*) filter (where deliveries > 1)::integer from receipts) as redelivered,
              (select max(fence) from reprise.records) as fence
         from reprise.attempts where ending = 'responded'`,
    )
    const kills = slots.reduce((sum, slot) => sum + slot.kills, 0)
    const told = JSON.stringify(Object.fromEntries(seen.outcomes))
    console.log(`${LOAD_SECONDS} s: ${seen.users.length} rides, ${kills} kills, told ${told}, \
${JSON.stringify(rows[0])}, settled after ${settledMs} ms.`)
    expect(kills).toBeGreaterThan(LOAD_SECONDS / 4)
  })
})
