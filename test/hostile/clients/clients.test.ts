import { createClient } from 'redis'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Store } from '../../../src/engine/store.ts'
import { memoryStore } from '../../../src/stores/memory/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { atLength } from '../../support/at-length.ts'
import { deletePrefix, redisUrl, temporaryPrefix } from '../../support/redis.ts'
import { planOf, smallerPlans } from './plan.ts'
import { boundariesOf } from './request.ts'
import { Playground, reportOf } from './run.ts'

/** Plays seeds one after the other; what failed, made small. */
async function play(openStore: () => Store, from: number, count: number): Promise<string[]> {
  const playground = new Playground(openStore)
  onTestFinished(() => playground.close())
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await playground.playSeed(seed)
    if (outcome.violations.length === 0) continue
    return [
      reportOf(seed, outcome),
      `smallest: ${reportOf(seed, await playground.shrink(outcome))}`,
    ]
  }
  return []
}

describe('hostile clients', () => {
  it('that leave at any byte and any moment have one whole effect and one answer', async () => {
    const failed = await play(() => memoryStore(), 1, atLength(150, 4000))
    expect(failed).toEqual([])
  }, 1_200_000)

  it('are the same for the same seed, and can be made smaller', () => {
    const plan = planOf(7, boundariesOf)
    expect(planOf(7, boundariesOf)).toEqual(plan)
    expect(smallerPlans(plan)).not.toContainEqual(plan)
    expect(smallerPlans(plan).length).toBeGreaterThan(0)
  })
})

describe.skipIf(redisUrl() === undefined)('hostile clients, with the records in Redis', () => {
  it('that leave at any byte and any moment have one whole effect and one answer', async () => {
    const prefix = temporaryPrefix()
    const client = createClient({ url: redisUrl() ?? '' })
    await client.connect()
    onTestFinished(async () => {
      client.destroy()
      await deletePrefix(prefix)
    })
    let stores = 0
    const openStore = () =>
      redisStore(client, { prefix: `${prefix}${stores++}:`, onUnsafe: 'ignore' })
    expect(await play(openStore, 100_001, atLength(30, 1000))).toEqual([])
  }, 1_200_000)
})
