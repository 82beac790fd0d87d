import { describe, expect, it } from 'vitest'
import { resolveRunOptions } from '../../src/core/options.ts'
import { type RecallRequest, ReplayCache } from '../../src/engine/replay-cache.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorld, Effect, REQUEST, response } from './world.ts'

function entry(bodyBytes: number, expiresAt = 1_000_000) {
  const body = new Uint8Array(bodyBytes)
  return { response: { ...response(), body, bodyBytesOmitted: null }, requestId: null, expiresAt }
}

function asked(request: string) {
  const identity = { id: request, caller: 'acct_1', operation: 'POST /items', key: 'key-1' }
  return { request, identity, fingerprint: '1.abc' }
}

const route = resolveRunOptions({})

/** Asks for an answer, as the engine does. */
function given(cache: ReplayCache, request: string, recalled?: RecallRequest) {
  return cache.get({ request, recalled, options: route })
}

describe('the replay cache', () => {
  it('gives an answer until it is too old', () => {
    const clock = new FakeClock()
    const cache = new ReplayCache(clock, { bytesMax: 10_000, ageMsMax: 100 })
    cache.set(asked('a'), entry(10))

    clock.advance(99)
    expect(given(cache, 'a')).toBeDefined()
    clock.advance(1)
    expect(given(cache, 'a')).toBeUndefined()
  })

  it('never gives an answer past its retention', () => {
    const clock = new FakeClock()
    const cache = new ReplayCache(clock, { bytesMax: 10_000, ageMsMax: 100 })
    cache.set(asked('a'), entry(10, 50))

    clock.advance(50)
    expect(given(cache, 'a')).toBeUndefined()
  })

  it('stays within its bytes and keeps what is asked for', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 10_000, ageMsMax: 100 })
    const names = Array.from({ length: 100 }, (_, number) => `name-${number}`)
    cache.set(asked('a'), entry(1000))
    for (const name of names) {
      cache.set(asked(name), entry(1000))
      given(cache, 'a')
    }

    expect(given(cache, 'a')).toBeDefined()
    const kept = names.filter((name) => given(cache, name) !== undefined)
    expect(kept.at(-1)).toBe('name-99')
    // Half of the room is for what was asked for, and with what each has besides its body four fit in the other.
    expect(kept.length).toBeLessThan(5)
  })

  it('does not take what alone is too large, nor lose room by replacing', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 5000, ageMsMax: 100 })
    cache.set(asked('huge'), entry(5000))
    for (let i = 0; i < 100; i++) cache.set(asked('a'), entry(1000))
    cache.set(asked('b'), entry(1000))

    expect(given(cache, 'huge')).toBeUndefined()
    expect(given(cache, 'a')).toBeDefined()
    expect(given(cache, 'b')).toBeDefined()
  })

  describe('by the text of a request', () => {
    const told: unknown[] = []
    const context = { ended: (...args: unknown[]) => void told.push(args) }
    const asking = (amount: number): RecallRequest => ({
      identity: ['caller', 'acct_1', 'key', 'key-1'],
      compared: {
        ...{ method: 'POST', path: '/items', query: '', contentType: 'application/json' },
        body: { form: 'json', text: `{"amount":${amount}}` } as const,
      },
      origin: { requestId: 'req_2', ip: null, userAgent: null },
    })
    const filled = (clock = new FakeClock()) => {
      const cache = new ReplayCache(clock, { bytesMax: 10_000, ageMsMax: 100 })
      cache.set(asked('a'), entry(1000))
      // The first time it is found by its digest, and from then on by its text.
      given(cache, 'a', asking(100))
      return cache
    }

    it('gives the answer, and tells of the request that got it', () => {
      const cache = filled()
      told.length = 0
      expect(cache.recall(asking(100), route, context)).toEqual(given(cache, 'a'))
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
      expect(cache.recall(asking(100), resolveRunOptions({}), context)).toBeUndefined()
      expect(told).toEqual([])
    })

    it.each<[string, Partial<RecallRequest['compared']>]>([
      ['the method', { method: 'PUT' }],
      ['the path', { path: '/orders' }],
      ['the query', { query: 'dry=1' }],
      ['the type of the body', { contentType: 'text/plain' }],
      ['the form of the body', { body: { form: 'bytes', text: '{"amount":100}' } }],
      ['the version of the API', { version: '2' }],
    ])('gives nothing to a request that differs only in %s', (_, other) => {
      const cache = filled()
      const { compared, ...rest } = asking(100)
      expect(
        cache.recall({ ...rest, compared: { ...compared, ...other } }, route, context),
      ).toBeUndefined()

      const versioned = new ReplayCache(new FakeClock(), { bytesMax: 10_000, ageMsMax: 100 })
      versioned.set(asked('a'), entry(1000))
      given(versioned, 'a', { ...rest, compared: { ...compared, ...other } })
      expect(versioned.recall(asking(100), route, context)).toBeUndefined()
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
      for (const name of 'bcdefgh') {
        full.set(asked(name), entry(1000))
        given(full, name)
      }
      expect(full.recall(asking(100), route, context)).toBeUndefined()
    })
  })

  it('forgets what nobody has asked for yet', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 10_000, ageMsMax: 100 })
    cache.set(asked('a'), entry(1000))
    cache.forget('a')

    expect(given(cache, 'a')).toBeUndefined()
  })

  it('gives the answer that was kept last, whatever was asked for in between and however large', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 100_000, ageMsMax: 100 })
    for (const size of [10, 20, 5000, 30, 6000, 40]) {
      cache.set(asked('a'), entry(size))
      if (size !== 30) expect(given(cache, 'a')?.response.body).toHaveLength(size)
    }
  })

  it('gives no earlier answer once a large one has gone', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 40_000, ageMsMax: 100 })
    cache.set(asked('a'), entry(30))
    cache.set(asked('a'), entry(5000))
    for (const name of 'bcdefgh') cache.set(asked(name), entry(5000))

    expect(given(cache, 'a')).toBeUndefined()
  })

  it('does not copy large bodies', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 40_000, ageMsMax: 100 })
    const large = entry(5000)
    cache.set(asked('a'), large)

    expect(given(cache, 'a')?.response.body).toBe(large.response.body)
  })

  it('can be told of more memory than there is', () => {
    const bytesMax = Number.MAX_SAFE_INTEGER
    const cache = new ReplayCache(new FakeClock(), { bytesMax, ageMsMax: 100 })
    cache.set(asked('a'), entry(10))

    expect(given(cache, 'a')).toBeDefined()
  })

  it('keeps all of a response', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 10_000, ageMsMax: 100 })
    const headers = [['Set-Cookie', 'a=1'] as const, ['X-Ünicode', '日本 "quoted"\n'] as const]
    for (const bodyBytesOmitted of [null, 5, 'unknown'] as const) {
      const body = Uint8Array.of(0, 128, 255)
      const kept = { status: 402, headers, body, bodyBytesOmitted }
      cache.set(asked('a'), { response: kept, requestId: 'req_1', expiresAt: 70 })

      const replayed = given(cache, 'a')
      expect(replayed).toMatchObject({ requestId: 'req_1', expiresInMs: 70 })
      expect(replayed?.response).toEqual({ ...kept, body: Buffer.from(body) })
    }
  })

  it('keeps what is new where all else was used', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 10_000, ageMsMax: 100 })
    for (const name of 'abcdef') {
      cache.set(asked(name), entry(1000))
      for (const used of 'abcdef') given(cache, used)
    }
    cache.set(asked('g'), entry(1000))

    expect(given(cache, 'g')).toBeDefined()
  })

  it('gives the very bytes, small or large', () => {
    const cache = new ReplayCache(new FakeClock(), { bytesMax: 100_000, ageMsMax: 100 })
    for (const size of [0, 1, 300, 4096, 4097]) {
      const body = Uint8Array.from({ length: size }, (_, at) => at % 256)
      const kept = entry(0)
      cache.set(asked('a'), { ...kept, response: { ...kept.response, body } })

      for (let times = 0; times < 2; times++) {
        expect(Buffer.compare(given(cache, 'a')?.response.body ?? Buffer.of(0), body)).toBe(0)
      }
    }
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
