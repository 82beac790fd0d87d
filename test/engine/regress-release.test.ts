import { describe, expect, it } from 'vitest'
import { createTroubled, LEASE_MS, RESET } from './troubled.ts'
import { Effect, OTHER_BODY, REQUEST, response, text } from './world.ts'

describe('an answer that frees the key', () => {
  it('frees it although the first try to release fails', async () => {
    const world = createTroubled()
    const effect = new Effect()
    world.trouble('release', RESET)

    const refused = await world.reprise.run(REQUEST, async () => response(400))
    await world.wait(2 * LEASE_MS)

    expect(refused).toMatchObject({ outcome: 'executed', response: { status: 400 } })
    expect((await world.reprise.run(OTHER_BODY, effect.quick)).outcome).toBe('executed')
  })

  it('is not called forgotten while the record stays', async () => {
    const world = createTroubled()
    world.trouble('release', RESET, RESET, RESET)

    const refused = await world.reprise.run(REQUEST, async () => response(400))

    const { records } = await world.store.list({ limit: 1 })
    expect(records).toHaveLength(1)
    expect(refused).not.toMatchObject({ fate: 'forgotten' })
  })

  it('gives way to the answer of the run that took over', async () => {
    const world = createTroubled({ marksEffect: true })
    const zombie = new Effect()
    world.trouble('renew', ...Array.from({ length: 9 }, () => RESET))
    const first = world.reprise.run(REQUEST, zombie.handler)
    await world.wait(LEASE_MS + 1000)
    const heir = await world.process().run(REQUEST, async () => response(201, 'heir'))

    zombie.end(response(400, 'zombie'))

    expect(heir.outcome).toBe('resumed')
    const end = await first
    expect(end.outcome).toBe('replayed')
    if (end.outcome === 'replayed') expect(text(end.response)).toBe('heir')
  })
})

describe('a run that repeats one whose effect is unknown', () => {
  it.each([
    ['answers that it did not take the request on', false, async () => response(429)],
    ['throws before it marks its effect', true, async () => Promise.reject(new Error('early'))],
  ])('does not free the key for another request when it %s', async (_, marksEffect, handler) => {
    const world = createTroubled({ afterCrash: 'rerun', marksEffect })
    const first = world.reprise.run(REQUEST, async (run) => {
      await run.markEffect()
      throw new Error('charged, and then failed')
    })
    await expect(first).rejects.toThrow('charged')
    await world.reprise.run(REQUEST, handler).catch(() => {})

    const other = await world.reprise.run(OTHER_BODY, async () => response())

    expect(other.outcome).toBe('mismatch')
  })
})
