import { describe, expect, it } from 'vitest'
import { createTroubled } from './troubled.ts'
import { Effect, REQUEST, turn } from './world.ts'

const HOUR_MS = 3_600_000

describe('an outcome that is unknown', () => {
  it('is kept for the retention from the run that left it, not from the first request', async () => {
    const world = createTroubled({ marksEffect: true, retentionMs: HOUR_MS })
    const frozen = { ...{ now: () => 0, unix: () => 0 }, after: () => () => {} }
    void world.process({ clock: frozen }).run(REQUEST, () => new Promise(() => {}))
    await turn()
    await world.pass(HOUR_MS - 60_000)
    const effect = new Effect()
    const resumed = world.reprise.run(REQUEST, async (run) => {
      await run.markEffect()
      effect.count++
      throw new Error('charged, and then failed')
    })
    await expect(resumed).rejects.toThrow('charged')

    await world.pass(120_000)

    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe('unknown')
    expect(effect.count).toBe(1)
  })
})
