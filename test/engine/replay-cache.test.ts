import { describe, expect, it } from 'vitest'
import { ReplayCache } from '../../src/engine/replay-cache.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorld, Effect, REQUEST, response } from './world.ts'

function entry(bodyBytes: number, expiresAt = 1_000_000) {
  const body = new Uint8Array(bodyBytes)
  return { response: { ...response(), body, bodyBytesOmitted: null }, requestId: null, expiresAt }
}

describe('the replay cache', () => {
  it('gives an answer until it is too old', () => {
    const clock = new FakeClock()
    const cache = new ReplayCache(clock, { bytesMax: 10_000, ageMsMax: 100 })
    cache.set('a', entry(10))

    clock.advance(99)
    expect(cache.get('a')).toBeDefined()
    clock.advance(1)
    expect(cache.get('a')).toBeUndefined()
  })

  it('never gives an answer past its retention', () => {
    const clock = new FakeClock()
    const cache = new ReplayCache(clock, { bytesMax: 10_000, ageMsMax: 100 })
    cache.set('a', entry(10, 50))

    clock.advance(50)
    expect(cache.get('a')).toBeUndefined()
  })

  it('stays within its bytes and lets the least recently used go', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 5000, ageMsMax: 100 })
    for (const name of ['a', 'b', 'c']) cache.set(name, entry(1000))
    cache.get('a')
    cache.set('d', entry(1000))

    expect(['a', 'b', 'c', 'd'].filter((name) => cache.get(name) !== undefined)).toEqual([
      'a',
      'c',
      'd',
    ])
  })

  it('does not take what alone is too large, nor lose room by replacing', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 5000, ageMsMax: 100 })
    cache.set('huge', entry(5000))
    for (let i = 0; i < 100; i++) cache.set('a', entry(1000))
    cache.set('b', entry(1000))

    expect(cache.get('huge')).toBeUndefined()
    expect(cache.get('a')).toBeDefined()
    expect(cache.get('b')).toBeDefined()
  })

  it('is not put before a store in the process itself', async () => {
    const store = memoryStore()
    const reprise = createReprise({ store })
    const effect = new Effect()
    await reprise.run(REQUEST, effect.quick)
    await store.close()

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
  })

  it('spares the store and can be turned off', async () => {
    const cached = createWorld()
    const uncached = createWorld({ replayCache: false })
    for (const [world, outcome] of [
      [cached, 'replayed'],
      [uncached, 'executed'],
    ] as const) {
      const effect = new Effect()
      await world.reprise.run(REQUEST, effect.quick)
      await world.store.close()

      expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe(outcome)
    }
  })
})
