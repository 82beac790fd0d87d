import { describe, expect, it } from 'vitest'
import { createTroubled, LEASE_MS } from './troubled.ts'
import { Effect, REQUEST, response, text, turn } from './world.ts'

const HANGS = { toMs: Number.POSITIVE_INFINITY }

describe('the signal of a run', () => {
  it('is aborted when the lease lapses, also while a renewal hangs', async () => {
    const world = createTroubled()
    const effect = new Effect()
    let isAborted = false
    world.trouble('renew', HANGS, HANGS, HANGS)
    const run = world.reprise.run(REQUEST, ({ signal }) => {
      signal.addEventListener('abort', () => {
        isAborted = true
      })
      return effect.handler()
    })

    await world.wait(LEASE_MS + 1000)

    expect(isAborted).toBe(true)
    effect.end()
    await run
  })

  it('is not aborted because its own answer is already stored', async () => {
    const world = createTroubled()
    world.trouble('finish', { backMs: 8000 }, { backMs: 8000 })
    world.trouble('renew', { toMs: 1000 })
    const effect = new Effect()
    const run = world.reprise.run(REQUEST, effect.handler)
    await world.wait(LEASE_MS / 3 - 500)
    effect.end()
    await world.wait(20_000)

    expect(await run).toMatchObject({ outcome: 'executed' })
    expect(world.events.map(({ type }) => type)).not.toContain('lease_lost')
  })
})

describe('the answer of the run that took over', () => {
  it('says how long it is still kept', async () => {
    const world = createTroubled({ marksEffect: true, retentionMs: 60_000 })
    const zombie = new Effect()
    world.trouble('renew', HANGS, HANGS, HANGS)
    const first = world.reprise.run(REQUEST, zombie.handler)
    await world.wait(LEASE_MS)
    await world.process().run(REQUEST, async () => response(201, 'heir'))
    await world.wait(20_000)

    zombie.end(response(201, 'zombie'))

    expect(await first).toMatchObject({ outcome: 'replayed', expiresInMs: 40_000 })
  })

  it('is not given past its retention', async () => {
    const world = createTroubled({ marksEffect: true, retentionMs: 60_000 })
    const zombie = new Effect()
    world.trouble('renew', HANGS, HANGS, HANGS)
    const first = world.reprise.run(REQUEST, zombie.handler)
    await world.wait(LEASE_MS)
    await world.process().run(REQUEST, async () => response(201, 'heir'))
    await world.wait(60_000)

    zombie.end(response(201, 'zombie'))
    await turn()

    const end = await first
    expect(end.outcome).toBe('executed')
    if (end.outcome === 'executed') expect(text(end.response)).toBe('zombie')
  })
})
