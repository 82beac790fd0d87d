/** A phase that never answers: nobody waits for it for ever. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { foreignCall, operation, phase, respond } from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, deed, request, seen, usePhases } from './phases-world.ts'

describe('a phase that never answers', () => {
  const world = usePhases()

  let wake = () => {}
  let asleep: Promise<void>
  beforeEach(() => {
    asleep = new Promise((resolve) => {
      wake = resolve
    })
  })
  // Whoever sleeps on would keep its connection until the database ends its transaction.
  afterEach(() => wake())

  function making({ isStuck }: { isStuck: boolean }) {
    return operation(
      'make',
      { reprise: world.other(), input: anything, completer: { graceMs: 0, retryMs: 60_000 } },
      {
        started: phase(
          async ({ tx, key }) => {
            await deed(tx, key)
            if (isStuck) await asleep
            return respond(201)
          },
          { isolation: 'read committed', ...(isStuck && { timeoutMs: 100 }) },
        ),
      },
    )
  }

  it('gives the key back, and commits nothing when it answers after all', async () => {
    const stuck = making({ isStuck: true }).run(request('k'))
    await expect(stuck).rejects.toThrow('The phase started took more than 100 ms.')
    const mended = making({ isStuck: false })
    expect(seen(await mended.run(request('k')))).toEqual(['resumed', 201, ''])
    wake()
    const isIdle = () => world.pool.idleCount === world.pool.totalCount
    await expect.poll(isIdle, { timeout: 25_000 }).toBe(true)
    expect(await world.deeds()).toEqual(['k'])
    expect(seen(await mended.run(request('k')))).toEqual(['replayed', 201, ''])
  })

  it('holds up no other record of the completer', async () => {
    const op = making({ isStuck: true })
    const keys = ['a', 'b']
    const runs = await Promise.allSettled(keys.map((key) => op.run(request(key))))
    expect(runs.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await world.age(120_000)
    const complete = async (operation: typeof op) => {
      const completer = { concurrency: 1 }
      const workers = createWorkers(world.reprise, { operations: [operation], completer })
      return workers.completer?.runOnce()
    }
    expect(await complete(op)).toBe(2)
    await world.age(240_000)
    expect(await complete(making({ isStuck: false }))).toBe(2)
    expect([...(await world.deeds())].sort()).toEqual(keys)
  })

  it.each([0, -1, Number.NaN, 1.5])('can not be given %d ms', (timeoutMs) => {
    expect(() => phase(async () => respond(201), { timeoutMs })).toThrow(/timeoutMs/)
    const call = { call: async () => 1, done: () => respond(201), timeoutMs }
    expect(() => foreignCall(call)).toThrow(/timeoutMs/)
  })
})
