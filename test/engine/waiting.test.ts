import { describe, expect, it } from 'vitest'
import type { ClaimRequest, Store } from '../../src/engine/store.ts'
import { createWorld, Effect, REQUEST, response, text, turn } from './world.ts'

/** Counts the claims that reach the store. */
function counting() {
  const counter = { claims: 0, watches: 0 }
  const wrap = (store: Store): Store =>
    new Proxy(store, {
      get(target, name) {
        if (name === 'claim') {
          return (request: ClaimRequest) => {
            counter.claims++
            return target.claim(request)
          }
        }
        if (name === 'watch') {
          return (id: string, wake: () => void) => {
            counter.watches++
            return target.watch?.(id, wake)
          }
        }
        const member: unknown = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  return { counter, wrap }
}

const copies = (count: number) => Array.from({ length: count }, () => REQUEST)

describe('duplicates of one process', () => {
  it('cost one claim, a thousand of them, and all get the first answer when they wait', async () => {
    const { counter, wrap } = counting()
    const { reprise } = createWorld({ waitMs: 10_000, replayCache: false }, wrap)
    const effect = new Effect()
    const runs = copies(1000).map((request) => reprise.run(request, effect.handler))
    await turn()

    effect.end(response(201, 'first'))
    const results = await Promise.all(runs)

    expect(effect.count).toBe(1)
    expect(counter).toEqual({ claims: 1, watches: 0 })
    expect(results.filter(({ outcome }) => outcome === 'executed')).toHaveLength(1)
    const replays = results.filter((result) => result.outcome === 'replayed')
    expect(replays).toHaveLength(999)
    expect(new Set(replays.map((replay) => text(replay.response)))).toEqual(new Set(['first']))
  })

  it('cost one claim when they do not wait', async () => {
    const { counter, wrap } = counting()
    const { reprise } = createWorld({}, wrap)
    const effect = new Effect()
    const first = reprise.run(REQUEST, effect.handler)
    const others = await Promise.all(copies(999).map((copy) => reprise.run(copy, effect.quick)))
    effect.end()
    await first

    expect(counter.claims).toBe(1)
    expect(others.every(({ outcome }) => outcome === 'in_progress')).toBe(true)
  })

  it('do not share the failure of the first but try for themselves, one at a time', async () => {
    const { reprise } = createWorld({ waitMs: 10_000, marksEffect: true })
    const effect = new Effect()
    const runs = copies(3).map((request) => reprise.run(request, effect.handler))
    await turn()

    effect.end(new Error('first'), 0)
    await expect(runs[0]).rejects.toThrow('first')
    await turn()
    expect(effect.count).toBe(2)
    effect.end(response(201, 'second'), 1)

    const [, second, third] = await Promise.allSettled(runs)
    expect(second).toMatchObject({ value: { outcome: 'executed' } })
    expect(third).toMatchObject({ value: { outcome: 'replayed' } })
  })

  it('share the failure of a claim', async () => {
    const { reprise } = createWorld({}, (store) =>
      Object.assign(Object.create(store) as Store, {
        claim: () => Promise.reject(new Error('down')),
        ready: () => Promise.resolve(),
      }),
    )

    const runs = await Promise.allSettled(
      copies(10).map((r) => reprise.run(r, async () => response())),
    )

    for (const run of runs) {
      expect(run).toMatchObject({ reason: { code: 'idempotency-store-unavailable' } })
    }
  })
})

describe('duplicates of a run in another process', () => {
  it('are woken by the store and replay', async () => {
    const { counter, wrap } = counting()
    const world = createWorld({ waitMs: 10_000, replayCache: false }, wrap)
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    const other = world.process()
    const waiting = copies(100).map((request) => other.run(request, effect.quick))
    await turn()
    const before = counter.claims

    effect.end()
    const results = await Promise.all(waiting)

    expect(results.every(({ outcome }) => outcome === 'replayed')).toBe(true)
    expect((await first).outcome).toBe('executed')
    expect(counter.watches).toBe(1)
    expect(counter.claims - before).toBe(1)
    expect(world.clock.timerCount).toBe(0)
  })

  it('look once more when the store signals, then once a second, and once for all when woken', async () => {
    const { counter, wrap } = counting()
    const world = createWorld({ waitMs: 10_000, replayCache: false }, wrap)
    const effect = new Effect()
    void world.reprise.run(REQUEST, effect.handler)
    await turn()
    const other = world.process()
    const before = counter.claims
    const waiting = copies(100).map((request) => other.run(request, effect.quick))
    await turn()
    expect(counter.claims - before).toBe(1)

    await world.pass(20)
    expect(counter.claims - before).toBe(2)
    await world.pass(900)
    expect(counter.claims - before).toBe(2)
    await world.pass(200)
    expect(counter.claims - before).toBe(3)

    effect.end()
    await Promise.all(waiting)
    expect(counter).toEqual({ claims: before + 4, watches: 1 })
  })

  it('poll on where the store’s signals can not be had, or are long in coming', async () => {
    for (const watch of [() => Promise.reject(new Error('down')), () => new Promise(() => {})]) {
      const world = createWorld({ waitMs: 10_000 }, (store) =>
        Object.assign(Object.create(unsignalled(store)) as Store, { watch }),
      )
      const effect = new Effect()
      void world.reprise.run(REQUEST, effect.handler)
      await turn()
      const waiting = world.process().run(REQUEST, effect.quick)
      await turn()
      effect.end()
      await turn()

      await world.pass(300)

      expect((await waiting).outcome).toBe('replayed')
    }
  })

  it('cost no claim when they come later, and are another request’s business when that differs', async () => {
    const { counter, wrap } = counting()
    const world = createWorld({ waitMs: 10_000, replayCache: false }, wrap)
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    const other = world.process()
    const waiting = [other.run(REQUEST, effect.quick)]
    await turn()
    const before = counter.claims
    for (const request of copies(10)) {
      waiting.push(other.run(request, effect.quick))
      await turn()
    }
    expect(counter.claims).toBe(before)
    const stranger = await other.run({ ...REQUEST, fingerprints: ['another'] }, effect.quick)
    expect(stranger.outcome).toBe('mismatch')

    effect.end()
    const results = await Promise.all(waiting)

    expect(results.every(({ outcome }) => outcome === 'replayed')).toBe(true)
    expect((await first).outcome).toBe('executed')
    // The stranger's, and one for all who waited.
    expect(counter.claims - before).toBe(2)
    expect(world.clock.timerCount).toBe(0)
  })

  it('who come later give up after their own time', async () => {
    const world = createWorld({ waitMs: 2000 })
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    const other = world.process()
    const early = other.run(REQUEST, effect.quick)
    await turn()
    const late = other.run({ ...REQUEST, waitMs: 100 }, effect.quick)
    await world.pass(100)

    expect((await late).outcome).toBe('in_progress')
    effect.end()
    expect((await early).outcome).toBe('replayed')
    expect((await first).outcome).toBe('executed')
  })

  it('look once before they give up, though others were told that it runs', async () => {
    const world = createWorld({ waitMs: 10_000 }, unsignalled)
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    const other = world.process()
    const early = other.run(REQUEST, effect.quick)
    await world.pass(2000)
    // At a poll, so that the next one is a while off.
    await world.pass(250)
    effect.end()
    await first
    const late = other.run({ ...REQUEST, waitMs: 1 }, effect.quick)
    await world.pass(1)

    expect((await late).outcome).toBe('replayed')
    await world.pass(1000)
    expect((await early).outcome).toBe('replayed')
  })

  it('find out by polling where the store does not signal', async () => {
    const world = createWorld({ waitMs: 10_000 }, unsignalled)
    const effect = new Effect()
    void world.reprise.run(REQUEST, effect.handler)
    await turn()
    const waiting = world.process().run(REQUEST, effect.quick)
    await turn()
    effect.end()
    await turn()

    await world.pass(1000)

    expect((await waiting).outcome).toBe('replayed')
  })

  it('give up after their time and leave the owner alone', async () => {
    const world = createWorld({ waitMs: 2000 })
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    const waiting = world.process().run(REQUEST, effect.quick)

    await world.pass(2000)

    expect((await waiting).outcome).toBe('in_progress')
    effect.end()
    expect(await first).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(effect.count).toBe(1)
  })

  it('wait as long as the request itself asks', async () => {
    const world = createWorld()
    const effect = new Effect()
    void world.reprise.run(REQUEST, effect.handler)
    await turn()
    const waiting = world.process().run({ ...REQUEST, waitMs: 5000 }, effect.quick)
    await world.pass(4000)
    effect.end()

    expect((await waiting).outcome).toBe('replayed')
  })

  it('take over when the owner dies', async () => {
    const world = createWorld({ waitMs: 60_000, afterCrash: 'rerun' })
    const dead = world.process({ clock: { now: () => 0, after: () => () => {}, unix: () => 0 } })
    void dead.run(REQUEST, () => new Promise(() => {}))
    await turn()
    const effect = new Effect()
    const waiting = copies(5).map((request) => world.reprise.run(request, effect.quick))

    await world.pass(40_000)

    const outcomes = (await Promise.all(waiting)).map(({ outcome }) => outcome)
    expect(outcomes.sort()).toEqual(['executed', ...Array<string>(4).fill('replayed')])
    expect(effect.count).toBe(1)
  })

  it('are bounded for one key and in all; who finds no place is answered at once', async () => {
    const world = createWorld({ waitMs: 10_000, waiters: { perKeyMax: 2, totalMax: 3 } })
    const effect = new Effect()
    const other = { ...REQUEST, key: 'key-2' }
    void world.reprise.run(REQUEST, effect.handler)
    void world.reprise.run(other, effect.handler)
    await turn()
    const process = world.process()
    const waiting = [REQUEST, REQUEST, other].map((request) => process.run(request, effect.quick))
    await turn()

    expect((await process.run(REQUEST, effect.quick)).outcome).toBe('in_progress')
    expect((await process.run(other, effect.quick)).outcome).toBe('in_progress')
    effect.end(response(), 0)
    effect.end(response(), 1)
    const results = await Promise.all(waiting)
    expect(results.every(({ outcome }) => outcome === 'replayed')).toBe(true)
  })
})

describe('closing', () => {
  it('refuses new requests, waits for those that run, and lets go of those that wait', async () => {
    const world = createWorld({ waitMs: 10_000 })
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()
    const process = world.process()
    const waiting = process.run(REQUEST, effect.quick)
    await turn()
    let isClosed = false
    const closing = world.reprise.close().then(() => {
      isClosed = true
    })
    await turn()

    const shutDown = { code: 'idempotency-shutting-down' }
    await expect(world.reprise.run({ ...REQUEST, key: 'k' }, effect.quick)).rejects.toMatchObject(
      shutDown,
    )
    expect(isClosed).toBe(false)
    const letGo = expect(waiting).rejects.toMatchObject(shutDown)
    await process.close()
    await letGo
    effect.end()
    expect((await first).outcome).toBe('executed')
    await closing
    expect(isClosed).toBe(true)
  })

  it('does not wait for ever', async () => {
    const world = createWorld()
    void world.reprise.run(REQUEST, new Effect().handler)
    await turn()

    const closing = world.reprise.close({ graceMs: 500 })
    await world.pass(500)

    await expect(closing).resolves.toBeUndefined()
  })
})

/** A store that tells nobody that a record has changed. */
function unsignalled(store: Store): Store {
  return Object.assign(Object.create(null) as Store, {
    ready: () => store.ready(),
    claim: store.claim.bind(store),
    finish: store.finish.bind(store),
    renew: store.renew.bind(store),
  })
}
