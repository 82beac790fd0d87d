import { describe, expect, it } from 'vitest'
import { type RecallRequest, ReplayCache } from '../../src/engine/replay-cache.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorld, Effect, REQUEST, response } from './world.ts'

function entry(bodyBytes: number, expiresAt = 1_000_000) {
  const body = new Uint8Array(bodyBytes)
  return { response: { ...response(), body, bodyBytesOmitted: null }, requestId: null, expiresAt }
}

function asked(request: string, near?: string) {
  const identity = { id: request, caller: 'acct_1', operation: 'POST /items', key: 'key-1' }
  return { request, identity, fingerprint: '1.abc', near }
}

describe('the replay cache', () => {
  it('gives an answer until it is too old', () => {
    const clock = new FakeClock()
    const cache = new ReplayCache(clock, { bytesMax: 10_000, ageMsMax: 100 })
    cache.set(asked('a'), entry(10))

    clock.advance(99)
    expect(cache.get('a')).toBeDefined()
    clock.advance(1)
    expect(cache.get('a')).toBeUndefined()
  })

  it('never gives an answer past its retention', () => {
    const clock = new FakeClock()
    const cache = new ReplayCache(clock, { bytesMax: 10_000, ageMsMax: 100 })
    cache.set(asked('a'), entry(10, 50))

    clock.advance(50)
    expect(cache.get('a')).toBeUndefined()
  })

  it('stays within its bytes and lets the least recently used go', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 5000, ageMsMax: 100 })
    for (const name of ['a', 'b', 'c']) cache.set(asked(name), entry(1000))
    cache.get('a')
    cache.set(asked('d'), entry(1000))

    expect(['a', 'b', 'c', 'd'].filter((name) => cache.get(name) !== undefined)).toEqual([
      'a',
      'c',
      'd',
    ])
  })

  it('does not take what alone is too large, nor lose room by replacing', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 5000, ageMsMax: 100 })
    cache.set(asked('huge'), entry(5000))
    for (let i = 0; i < 100; i++) cache.set(asked('a'), entry(1000))
    cache.set(asked('b'), entry(1000))

    expect(cache.get('huge')).toBeUndefined()
    expect(cache.get('a')).toBeDefined()
    expect(cache.get('b')).toBeDefined()
  })

  describe('by the text of a request', () => {
    const told: unknown[] = []
    const context = { ended: (...args: unknown[]) => void told.push(args) }
    const route = {}
    const asking = (amount: number) => ({
      identity: ['caller', 'acct_1', 'key', 'key-1'],
      compared: {
        ...{ method: 'POST', path: '/items', query: '', contentType: 'application/json' },
        body: { form: 'json', text: `{"amount":${amount}}` } as const,
      },
      origin: { requestId: 'req_2', ip: null, userAgent: null },
    })
    const near = (cache: ReplayCache, amount = 100) => {
      const request: RecallRequest = asking(amount)
      cache.recall(request, route, context)
      return request.near
    }
    const filled = (clock = new FakeClock()) => {
      const cache = new ReplayCache(clock, { bytesMax: 5000, ageMsMax: 100 })
      cache.set(asked('a', near(cache)), entry(1000))
      return cache
    }

    it('gives the answer, and tells of the request that got it', () => {
      const cache = filled()
      told.length = 0
      expect(cache.recall(asking(100), route, context)).toEqual(cache.get('a'))
      expect(told).toMatchObject([
        [
          'replayed',
          { identity: { id: 'a' }, fingerprint: '1.abc', origin: { requestId: 'req_2' } },
        ],
      ])
    })

    it('gives nothing to another request, nor on another route', () => {
      const cache = filled()
      told.length = 0
      expect(cache.recall(asking(1), route, context)).toBeUndefined()
      expect(cache.recall(asking(100), {}, context)).toBeUndefined()
      expect(told).toEqual([])
    })

    it('gives nothing that is too old, was forgotten, or had to make room', () => {
      const clock = new FakeClock()
      const aged = filled(clock)
      clock.advance(100)
      expect(aged.recall(asking(100), route, context)).toBeUndefined()

      const forgetful = filled()
      forgetful.forget('a')
      expect(forgetful.recall(asking(100), route, context)).toBeUndefined()

      const full = filled()
      for (const name of ['b', 'c', 'd']) full.set(asked(name), entry(1000))
      expect(full.recall(asking(100), route, context)).toBeUndefined()
    })
  })

  it('keeps what is new where all else was used', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 5000, ageMsMax: 100 })
    for (const name of ['a', 'b', 'c']) cache.set(asked(name), entry(1000))
    for (const name of ['a', 'b', 'c']) cache.get(name)
    cache.set(asked('d'), entry(1000))

    expect(cache.get('d')).toBeDefined()
    expect(cache.get('a')).toBeUndefined()
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
