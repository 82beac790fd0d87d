import { describe, expect, it } from 'vitest'
import { responsePolicies } from '../../src/core/policy.ts'
import { createWorld, Effect, OTHER_BODY, REQUEST, response, text, turn } from './world.ts'

describe('a run under a lease', () => {
  it('runs the first request and replays it byte for byte', async () => {
    const { reprise, process } = createWorld({ replayCache: false })
    const body = Uint8Array.from({ length: 256 }, (_, byte) => byte)
    const first = { status: 202, headers: [['X-A', '1'] as const, ['X-A', '2'] as const], body }

    const executed = await reprise.run(REQUEST, async () => first)
    const replayed = await process().run({ ...REQUEST, origin: {} }, async () => response())

    expect(executed).toEqual({
      ...{ outcome: 'executed', response: first, fate: 'stored', expiresInMs: 86_400_000 },
    })
    expect(replayed).toMatchObject({ outcome: 'replayed', requestId: 'req_1' })
    if (replayed.outcome !== 'replayed') return
    expect(replayed.response.status).toBe(202)
    expect(replayed.response.headers).toEqual(first.headers)
    expect(new Uint8Array(replayed.response.body)).toEqual(body)
  })

  it('refuses another request under the same key, before and after the first ends', async () => {
    const { reprise } = createWorld()
    const effect = new Effect()
    const first = reprise.run(REQUEST, effect.handler)
    await turn()

    expect(await reprise.run(OTHER_BODY, effect.quick)).toEqual({ outcome: 'mismatch' })
    effect.end()
    await first
    expect(await reprise.run(OTHER_BODY, effect.quick)).toEqual({ outcome: 'mismatch' })
    expect(await reprise.run(REQUEST, effect.quick)).toMatchObject({ outcome: 'replayed' })
    expect(effect.count).toBe(1)
  })

  it('answers a duplicate in flight at once, from this process and from another', async () => {
    const { reprise, process } = createWorld()
    const effect = new Effect()
    const first = reprise.run(REQUEST, effect.handler)
    await turn()

    const running = { outcome: 'in_progress', retryAfterMs: 1000 }
    expect(await reprise.run(REQUEST, effect.quick)).toEqual(running)
    expect(await process().run(REQUEST, effect.quick)).toEqual(running)
    effect.end()
    await first
    expect(effect.count).toBe(1)
  })

  it('says when to ask again from what the operation usually takes', async () => {
    const { reprise, pass } = createWorld()
    const effect = new Effect()
    const usual = reprise.run({ ...REQUEST, key: 'usual' }, effect.handler)
    await pass(8000)
    effect.end()
    await usual

    const slow = reprise.run(REQUEST, effect.handler)
    await pass(3000)
    const duplicate = await reprise.run(REQUEST, effect.quick)
    effect.end()
    await slow

    expect(duplicate).toEqual({ outcome: 'in_progress', retryAfterMs: 5000 })
  })

  it('keeps identities apart by caller, operation and key, or by the parts it is given', async () => {
    const { reprise } = createWorld()
    const effect = new Effect()
    for (const part of [{}, { caller: 'b' }, { operation: 'POST /refunds' }, { key: 'k2' }]) {
      await reprise.run({ ...REQUEST, ...part }, effect.quick)
    }
    const identity = ['acct_1', 'key-1']
    await reprise.run({ ...REQUEST, identity }, effect.quick)
    const moved = { ...REQUEST, operation: 'POST /elsewhere', identity }

    expect(effect.count).toBe(5)
    expect(await reprise.run(moved, effect.quick)).toMatchObject({ outcome: 'replayed' })
  })

  it.each([
    ['caller', { caller: '' }],
    ['operation', { operation: '' }],
    ['key', { key: '' }],
    ['fingerprints', { fingerprints: [] }],
  ])('refuses a request without %s', async (_, part) => {
    const { reprise } = createWorld()

    const run = reprise.run({ ...REQUEST, ...part }, async () => response())

    await expect(run).rejects.toMatchObject({ code: 'reprise-options-invalid' })
  })

  it('frees the key after an answer that says the request was not taken on', async () => {
    const { reprise, store } = createWorld()
    const effect = new Effect()

    const refused = await reprise.run(REQUEST, async () => response(400))
    const corrected = await reprise.run(OTHER_BODY, effect.quick)

    expect(refused).toMatchObject({ outcome: 'executed', fate: 'forgotten', expiresInMs: null })
    expect(corrected).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect((await store.list({ limit: 10 })).records).toHaveLength(1)
  })

  it('obeys the handler over the policy', async () => {
    const { reprise } = createWorld()
    const effect = new Effect()
    const freed = await reprise.run(REQUEST, async (run) => {
      run.release()
      return response(201)
    })
    const kept = await reprise.run(REQUEST, async (run) => {
      run.store()
      run.setResource({ type: 'charge', id: 'ch_1' })
      return response(500)
    })

    expect(freed).toMatchObject({ fate: 'forgotten' })
    expect(kept).toMatchObject({ fate: 'stored' })
    const replay = await reprise.run(REQUEST, effect.quick)
    expect(replay).toMatchObject({ outcome: 'replayed', response: { status: 500 } })
  })

  it.each([
    ['a NUL character in the id', { type: 'charge', id: 'ch\0' }],
    ['a NUL character in the type', { type: 'ch\0', id: 'ch_1' }],
    ['an id of more than 1,024 characters', { type: 'charge', id: 'x'.repeat(1025) }],
    ['an id that is a number', { type: 'charge', id: 1 as unknown as string }],
  ])('refuses in the handler a resource with %s', async (_, resource) => {
    const { reprise } = createWorld()
    const handled = reprise.run(REQUEST, async (run) => {
      expect(() => run.setResource(resource)).toThrow(TypeError)
      return response(201)
    })

    expect(await handled).toMatchObject({ fate: 'stored' })
  })

  it('keeps of an origin what every store can keep', async () => {
    const { reprise, process } = createWorld({ replayCache: false })
    const origin = { requestId: 'req\0_1', ip: '\0', userAgent: 'x'.repeat(2000) }
    await reprise.run({ ...REQUEST, origin }, async () => response())

    const replayed = await process().run(REQUEST, async () => response())
    expect(replayed).toMatchObject({ outcome: 'replayed', requestId: 'req_1' })
  })

  it('stores a 5xx under the stripe policy', async () => {
    const { reprise } = createWorld({ policy: responsePolicies.stripe })

    await reprise.run(REQUEST, async () => response(500))

    const replay = await reprise.run(REQUEST, async () => response())
    expect(replay).toMatchObject({ outcome: 'replayed', response: { status: 500 } })
  })

  it('keeps status and headers of a body that is too large, and says so', async () => {
    const { reprise, process } = createWorld({ bodyBytesMax: 10 })
    await reprise.run(REQUEST, async () => response(201, 'x'.repeat(11)))

    for (const engine of [reprise, process()]) {
      const replay = await engine.run(REQUEST, async () => response())

      expect(replay).toMatchObject({
        ...{ outcome: 'replayed', response: { status: 201, bodyBytesOmitted: 11 } },
      })
      if (replay.outcome === 'replayed') expect(replay.response.body.byteLength).toBe(0)
    }
  })

  it('does not replay cookies, not even to a duplicate of the same process', async () => {
    const { reprise } = createWorld({ waitMs: 1000 })
    const effect = new Effect()
    const first = reprise.run(REQUEST, effect.handler)
    const second = reprise.run(REQUEST, effect.quick)
    await turn()

    effect.end({ ...response(), headers: [['Set-Cookie', 'a=1']] })

    expect((await first).outcome).toBe('executed')
    expect(await second).toMatchObject({ outcome: 'replayed', response: { headers: [] } })
  })

  it('gives each caller the retention that is configured for it', async () => {
    const hour = 3_600_000
    const retentionMs = (caller: string) => (caller === 'gold' ? 72 * hour : hour)
    const { reprise, pass } = createWorld({ retentionMs, leaseMs: 1000 })
    const effect = new Effect()
    const gold = { ...REQUEST, caller: 'gold' }
    await reprise.run(REQUEST, effect.quick)
    await reprise.run(gold, effect.quick)

    await pass(2 * hour)

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
    expect((await reprise.run(gold, effect.quick)).outcome).toBe('replayed')
  })

  it('runs an expired key anew', async () => {
    const { reprise, pass } = createWorld({ retentionMs: 60_000 })
    const effect = new Effect()
    await reprise.run(REQUEST, effect.quick)

    await pass(60_000)

    expect((await reprise.run(OTHER_BODY, effect.quick)).outcome).toBe('executed')
    expect(effect.count).toBe(2)
  })

  it('replays under a rotated secret', async () => {
    const { reprise } = createWorld()
    await reprise.run({ ...REQUEST, fingerprints: ['old.1'] }, async () => response())

    const rotated = { ...REQUEST, fingerprints: ['new.1', 'old.1'] }

    expect((await reprise.run(rotated, async () => response())).outcome).toBe('replayed')
  })

  it('gives other run options to a route without parting from its engine', async () => {
    const { reprise } = createWorld({ bodyBytesMax: 1000 })
    const route = reprise.with({ bodyBytesMax: 3 })
    await route.run(REQUEST, async () => response())

    const replay = await reprise.run(REQUEST, async () => response())

    expect(replay).toMatchObject({ outcome: 'replayed', response: { bodyBytesOmitted: 13 } })
  })

  it('survives a listener that throws and tells it how each request ended', async () => {
    const types: string[] = []
    const { reprise } = createWorld({
      onEvent(event) {
        types.push(event.type)
        throw new Error('listener')
      },
    })

    await reprise.run(REQUEST, async () => response())
    await reprise.run(REQUEST, async () => response())
    await reprise.run(OTHER_BODY, async () => response())

    expect(types).toEqual(['executed', 'replayed', 'mismatch'])
  })

  it('lets parallel and nested runs of one engine be', async () => {
    const { reprise } = createWorld()
    const keys = Array.from({ length: 50 }, (_, index) => `key-${index}`)

    const results = await Promise.all(
      keys.map((key) =>
        reprise.run({ ...REQUEST, key }, async () => {
          const nested = { ...REQUEST, operation: 'inner', key }
          const inner = await reprise.run(nested, async () => response(200, `inner ${key}`))
          return response(201, `outer ${key}, ${inner.outcome}`)
        }),
      ),
    )
    const replays = await Promise.all(
      keys.map((key) => reprise.run({ ...REQUEST, key }, async () => response())),
    )

    for (const [index, key] of keys.entries()) {
      const [executed, replayed] = [results[index], replays[index]]
      if (executed?.outcome !== 'executed' || replayed?.outcome !== 'replayed') {
        throw new Error(`${executed?.outcome} ${replayed?.outcome}`)
      }
      expect(text(executed.response)).toBe(`outer ${key}, executed`)
      expect(text(replayed.response)).toBe(`outer ${key}, executed`)
    }
  })
})
