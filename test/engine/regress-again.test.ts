import { describe, expect, it } from 'vitest'
import type { Recover } from '../../src/core/options.ts'
import type { ClaimRequest, Store } from '../../src/engine/store.ts'
import { createTroubled, LEASE_MS, RESET } from './troubled.ts'
import { createWorld, Effect, REQUEST, response, turn } from './world.ts'

const failing = async () => Promise.reject(new Error('half way'))

describe('recover()', () => {
  it('does not have the handler run when it answers null', async () => {
    // What JavaScript without types can do: the row that it looked for is not there.
    const forgetful = (async () => null) as unknown as Recover
    const world = createTroubled({ afterCrash: forgetful })
    await expect(world.reprise.run(REQUEST, failing)).rejects.toThrow('half way')
    const effect = new Effect()

    await world.reprise.run(REQUEST, effect.quick).catch(() => {})

    expect(effect.count).toBe(0)
  })

  it('that refuses gives the lease up at once and for good', async () => {
    const world = createTroubled({ afterCrash: async () => 'refuse' })
    await expect(world.reprise.run(REQUEST, failing)).rejects.toThrow('half way')

    expect((await world.reprise.run(REQUEST, failing)).outcome).toBe('unknown')

    expect(world.clock.timerCount).toBe(0)
    await world.wait(LEASE_MS)
    expect(world.events.map(({ type }) => type)).not.toContain('lease_lost')
  })

  it('that refuses does not keep the key when the store can not be told', async () => {
    const world = createTroubled({ afterCrash: async () => 'refuse' })
    await expect(world.reprise.run(REQUEST, failing)).rejects.toThrow('half way')
    world.trouble('release', ...Array.from({ length: 99 }, () => RESET))
    await world.reprise.run(REQUEST, failing)

    await world.wait(3 * LEASE_MS)

    const stats = await world.store.stats()
    expect(stats).toEqual({ running: 0, suspended: 0, unknown: 1 })
    expect(world.clock.timerCount).toBe(0)
  })
})

describe('a claim whose every reply comes after its lease has lapsed', () => {
  it('is given up, and the handler does not run', async () => {
    const world = createTroubled({ leaseMs: 1000, storeTimeoutMs: 5000, afterCrash: 'rerun' })
    const effect = new Effect()
    world.trouble('claim', ...Array.from({ length: 9 }, () => ({ backMs: 1500 })))
    const run = world.reprise.run(REQUEST, effect.quick).catch(() => {})

    await world.wait(20_000)
    await run

    expect(effect.count).toBe(0)
  })
})

describe('a claim that fails here and is carried out there a little later', () => {
  it('does not keep the key', async () => {
    let isSlow = true
    const wrap = (store: Store): Store =>
      new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target)
          if (typeof member !== 'function') return member
          if (name !== 'claim' || !isSlow) return member.bind(target)
          return async (request: ClaimRequest) => {
            world.clock.after(2000, () => void target.claim(request))
            throw new Error('the driver waited long enough')
          }
        },
      })
    const world = createWorld({}, wrap)
    const effect = new Effect()
    await expect(world.reprise.run(REQUEST, effect.quick)).rejects.toThrow('store')
    isSlow = false

    for (let i = 0; i < 40; i++) await world.pass(1000)

    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
  })
})

describe('a release that took effect unseen', () => {
  it.each([
    [400, 'forgotten'],
    [500, 'suspended'],
  ])(
    'does not cost the client its answer, %s, or say another fate than %s',
    async (status, fate) => {
      const world = createTroubled()
      world.trouble('release', { fails: 'after' })

      const run = await world.reprise.run(REQUEST, async () => response(status))
      await turn()

      expect(run).toMatchObject({ outcome: 'executed', response: { status }, fate })
    },
  )
})
