import { describe, expect, it } from 'vitest'
import type { Recover } from '../../src/core/options.ts'
import type { CapturedResponse } from '../../src/core/response.ts'
import { createTroubled, LEASE_MS, RESET } from './troubled.ts'
import { Effect, REQUEST, turn } from './world.ts'

const failing = async (): Promise<CapturedResponse> => Promise.reject(new Error('half way'))

describe('recover()', () => {
  it('does not have the handler run when the lease was lost meanwhile', async () => {
    const world = createTroubled()
    await expect(world.reprise.run(REQUEST, failing)).rejects.toThrow('half way')
    let answer: (found: 'rerun') => void = () => {}
    const slowLook: Recover = () =>
      new Promise((resolve) => {
        answer = resolve
      })
    world.trouble('renew', ...Array.from({ length: 9 }, () => RESET))
    const slow = new Effect()
    const first = world.process({ afterCrash: slowLook }).run(REQUEST, slow.quick)
    await world.wait(LEASE_MS + 1000)
    const heir = new Effect()
    const second = world.process({ afterCrash: async () => 'rerun' }).run(REQUEST, heir.quick)
    expect((await second).outcome).toBe('executed')

    answer('rerun')
    await Promise.allSettled([first])

    expect([slow.count, heir.count]).toEqual([0, 1])
  })

  it('does not have the handler run when it answers nothing', async () => {
    // What JavaScript without types can do: a branch that forgets to return.
    const forgetful = (async () => undefined) as unknown as Recover
    const world = createTroubled({ afterCrash: forgetful })
    await expect(world.reprise.run(REQUEST, failing)).rejects.toThrow('half way')
    const effect = new Effect()

    await world.reprise.run(REQUEST, effect.quick).catch(() => {})
    await turn()

    expect(effect.count).toBe(0)
  })
})
