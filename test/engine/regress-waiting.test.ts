import { describe, expect, it } from 'vitest'
import { createTroubled, LEASE_MS, RESET } from './troubled.ts'
import { Effect, REQUEST, response, turn } from './world.ts'

describe('a duplicate that waits', () => {
  it('looks again at once when it was woken while its last look was under way', async () => {
    const world = createTroubled({ waitMs: 10_000 })
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    let end: string | undefined
    const waiting = world.process().run(REQUEST, effect.quick)
    void waiting.then(({ outcome }) => {
      end = outcome
    })
    await turn()
    // The look of the next poll is answered "in progress"; the reply is on its way for 100 ms.
    world.trouble('claim', { backMs: 100 })
    await world.wait(100)
    effect.end()
    await first
    expect(end).toBeUndefined()

    await world.wait(200)

    expect(end).toBe('replayed')
  })

  it('waits for the run that took over from the one it waited for', async () => {
    const world = createTroubled({ marksEffect: true, waitMs: 60_000 })
    const zombie = new Effect()
    world.trouble('renew', ...Array.from({ length: 9 }, () => RESET))
    const first = world.reprise.run(REQUEST, zombie.handler)
    await world.wait(1000)
    const waiting = world.reprise.run(REQUEST, zombie.quick)
    await world.wait(LEASE_MS)
    const heir = new Effect()
    const second = world.process().run(REQUEST, heir.handler)
    await turn()
    zombie.end(response(201, 'zombie'))
    await world.wait(1000)
    heir.end(response(201, 'heir'))
    await world.wait(2000)

    expect((await first).outcome).toBe('in_progress')
    expect((await second).outcome).toBe('resumed')
    expect((await waiting).outcome).toBe('replayed')
  })
})
