import { describe, expect, it } from 'vitest'
import { createTroubled, LEASE_MS, RESET } from './troubled.ts'
import { Effect, OTHER_BODY, REQUEST, response, text, turn } from './world.ts'

describe('what recover() finds', () => {
  it('is the answer for good, whatever the policy says of its status', async () => {
    const world = createTroubled({ afterCrash: async () => response(503, 'found') })
    const failing = async () => Promise.reject(new Error('half way'))
    await expect(world.reprise.run(REQUEST, failing)).rejects.toThrow('half way')

    const first = await world.reprise.run(REQUEST, failing)
    const second = await world.process().run(REQUEST, failing)

    expect(first).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(second).toMatchObject({ outcome: 'replayed', response: { status: 503 } })
  })
})

describe('a run that was taken over', () => {
  it('is not given the answer of another request that has the key by now', async () => {
    const world = createTroubled({ marksEffect: true })
    const zombie = new Effect()
    world.trouble('renew', ...Array.from({ length: 9 }, () => RESET))
    const first = world.reprise.run(REQUEST, zombie.handler)
    await world.wait(LEASE_MS + 1000)
    const heir = world.process()
    expect((await heir.run(REQUEST, async () => response(400))).outcome).toBe('resumed')
    await heir.run(OTHER_BODY, async () => response(201, 'of another request'))

    zombie.end(response(201, 'zombie'))

    const end = await first
    expect(end).toMatchObject({ outcome: 'executed', fate: 'not_stored' })
    if (end.outcome === 'executed') expect(text(end.response)).toBe('zombie')
  })
})

describe('a lease that was renewed', () => {
  it('is not lost by one renewal that fails later', async () => {
    const world = createTroubled()
    const effect = new Effect()
    const run = world.reprise.run(REQUEST, effect.handler)
    await world.wait(2 * LEASE_MS)
    world.trouble('renew', RESET)

    await world.wait(LEASE_MS / 2)

    expect(world.events.map(({ type }) => type)).toEqual(['store_error'])
    effect.end()
    expect(await run).toMatchObject({ outcome: 'executed', fate: 'stored' })
  })
})

describe('places for those who wait', () => {
  it('are not taken by the request that runs', async () => {
    const world = createTroubled({ waitMs: 10_000, waiters: { totalMax: 1 } })
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    const duplicate = world.reprise.run(REQUEST, effect.quick)
    await turn()

    effect.end()

    expect((await first).outcome).toBe('executed')
    expect((await duplicate).outcome).toBe('replayed')
  })

  it('are free again when a wait is over', async () => {
    const world = createTroubled({ waitMs: 10_000, waiters: { totalMax: 1 } })
    for (const key of ['key-1', 'key-2', 'key-3']) {
      const effect = new Effect()
      const first = world.reprise.run({ ...REQUEST, key }, effect.handler)
      await turn()
      const duplicate = world.process().run({ ...REQUEST, key }, effect.quick)
      const copy = world.reprise.run({ ...REQUEST, key }, effect.quick)
      await turn()
      effect.end()

      const ends = await Promise.all([first, duplicate, copy])
      expect(ends.map(({ outcome }) => outcome)).toEqual(['executed', 'replayed', 'replayed'])
    }
  })
})
