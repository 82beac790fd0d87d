import { describe, expect, it } from 'vitest'
import { createTroubled, LEASE_MS, RESET } from './troubled.ts'
import { Effect, REQUEST, response } from './world.ts'

const UNAVAILABLE = { code: 'idempotency-store-unavailable' }

describe('a claim that takes effect after its request was told that nothing was started', () => {
  it.each(['ready', 'claim'])('does not keep the key when %s was slow', async (verb) => {
    const world = createTroubled({ storeTimeoutMs: 5000 })
    const effect = new Effect()
    world.trouble(verb, { toMs: 8000 })
    const late = expect(world.reprise.run(REQUEST, effect.quick)).rejects.toMatchObject(UNAVAILABLE)

    await world.wait(2 * LEASE_MS)
    await late

    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
    expect(effect.count).toBe(1)
  })

  it('does not keep the key when the store was out of reach for a second', async () => {
    const world = createTroubled()
    const effect = new Effect()
    world.trouble('claim', { fails: 'after' }, { fails: 'after' })
    world.trouble('find', RESET, RESET)
    await expect(world.reprise.run(REQUEST, effect.quick)).rejects.toMatchObject(UNAVAILABLE)

    await world.wait(2 * LEASE_MS)

    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
  })

  it('keeps what an earlier run left when it was a takeover', async () => {
    const world = createTroubled({ afterCrash: async () => 'refuse', storeTimeoutMs: 5000 })
    const failing = async () => Promise.reject(new Error('may have charged'))
    await expect(world.reprise.run(REQUEST, failing)).rejects.toThrow('may have charged')
    world.trouble('claim', { toMs: 8000 })
    const late = expect(world.reprise.run(REQUEST, failing)).rejects.toMatchObject(UNAVAILABLE)

    await world.wait(10_000)
    await late

    expect((await world.reprise.run(REQUEST, async () => response())).outcome).toBe('unknown')
  })
})

describe('a claim whose reply comes after its lease has lapsed', () => {
  it('does not have the handler run beside the one that took over', async () => {
    const world = createTroubled({ leaseMs: 3000, storeTimeoutMs: 5000, afterCrash: 'rerun' })
    const slow = new Effect()
    const heir = new Effect()
    world.trouble('claim', { backMs: 4000 })
    const first = world.reprise.run(REQUEST, slow.quick)
    await world.wait(3500)
    const second = world.process().run(REQUEST, heir.handler)

    await world.wait(1000)

    expect([slow.count, heir.count]).toEqual([0, 1])
    heir.end()
    await Promise.allSettled([first, second])
  })
})
