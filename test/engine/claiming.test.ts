import { describe, expect, it } from 'vitest'
import { IDENTITY_INVALID } from '../../src/core/error-table.ts'
import { RepriseError } from '../../src/core/errors.ts'
import type { RepriseOptions } from '../../src/engine/reprise.ts'
import type { ClaimRequest, Store } from '../../src/engine/store.ts'
import { createTroubled, RESET } from './troubled.ts'
import { createWorld, Effect, REQUEST, turn } from './world.ts'

const LEASE_MS = 10_000
/** Longer than anything here takes, unless a test is about it. */
const TIMEOUT_MS = 1_000_000

const NEVER = Number.POSITIVE_INFINITY

/** A world in which every claim that reaches the store is seen. */
function troubled(options: Partial<RepriseOptions> = {}) {
  const world = createTroubled({ leaseMs: LEASE_MS, storeTimeoutMs: TIMEOUT_MS, ...options })
  const claims: ClaimRequest[] = []
  const released: string[] = []
  const { store } = world
  const { claim, release } = store
  store.claim = (request) => {
    claims.push(request)
    return claim.call(store, request)
  }
  store.release = (held, mode) => {
    released.push(mode)
    return release.call(store, held, mode)
  }
  return { ...world, claims, released }
}

async function statuses(store: Store): Promise<readonly string[]> {
  return (await store.list({ limit: 10 })).records.map(({ status }) => status)
}

describe('a claim whose reply comes after the lease that it grants', () => {
  it.each([
    [LEASE_MS - 100, 1],
    [LEASE_MS, 2],
  ])('after %i ms: asked %i times before the handler runs', async (backMs, times) => {
    const world = troubled()
    world.trouble('claim', { backMs })
    const effect = new Effect()
    const run = world.reprise.run(REQUEST, effect.quick)
    await world.wait(2 * LEASE_MS)

    expect(await run).toMatchObject({ outcome: 'executed' })
    expect([world.claims.length, effect.count]).toEqual([times, 1])
    expect(new Set(world.claims.map(({ owner }) => owner)).size).toBe(1)
  })

  it('is asked for three times, then given up and withdrawn', async () => {
    const world = troubled()
    const late = { backMs: LEASE_MS + 100 }
    world.trouble('claim', late, late, late, late)
    const effect = new Effect()
    const run = world.reprise.run(REQUEST, effect.quick)
    const failed = expect(run).rejects.toMatchObject({ code: 'idempotency-store-unavailable' })
    await world.wait(5 * LEASE_MS)

    await failed
    expect([world.claims.length, effect.count]).toEqual([3, 0])
    expect(await statuses(world.store)).toEqual([])
  })
})

describe('a claim that fails', () => {
  it('because the store refuses its identity is not sent again, and nothing is withdrawn', async () => {
    const refused = new RepriseError(IDENTITY_INVALID, 'no')
    const log: string[] = []
    const world = createWorld({}, (store) => {
      return new Proxy(store, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target)
          if (typeof member !== 'function') return member
          return (...args: unknown[]) => {
            log.push(String(name))
            if (name === 'claim') return Promise.reject(refused)
            return Reflect.apply(member, target, args)
          }
        },
      })
    })
    await expect(world.reprise.run(REQUEST, new Effect().quick)).rejects.toBe(refused)
    await world.pass(60_000)
    expect(log.filter((verb) => ['claim', 'find', 'release'].includes(verb))).toEqual(['claim'])
  })

  it.each([
    ['in the first half of its time is sent once more', 1900, 2],
    ['in the second half of its time is not', 2000, 1],
  ])('%s', async (_, toMs, times) => {
    const world = troubled({ storeTimeoutMs: 4000 })
    world.trouble('claim', { toMs, fails: 'before' }, RESET)
    const run = world.reprise.run(REQUEST, new Effect().quick)
    const failed = expect(run).rejects.toMatchObject({ code: 'idempotency-store-unavailable' })
    await world.wait(60_000)
    await failed
    expect(world.events.filter(({ type }) => type === 'store_error')).toHaveLength(times)
  })

  it('says what went wrong first', async () => {
    const world = troubled()
    world.trouble('claim', { fails: 'before' }, { toMs: NEVER })
    const run = world.reprise.run(REQUEST, new Effect().quick)
    const failed = expect(run).rejects.toMatchObject({ detail: 'The store failed' })
    await world.wait(2 * TIMEOUT_MS)
    await failed
  }, 120_000)

  it('and takes effect after its request was given up is withdrawn', async () => {
    const world = troubled({ storeTimeoutMs: 4000 })
    // The first arrives when both were given up, and so does its reply.
    world.trouble('claim', { toMs: 50_000 })
    const run = world.reprise.run(REQUEST, new Effect().quick)
    const failed = expect(run).rejects.toMatchObject({ code: 'idempotency-store-unavailable' })
    await world.wait(49_000)
    await failed
    expect(world.claims).toEqual([])
    await world.wait(10_000)

    expect(world.claims).toHaveLength(1)
    expect(world.released).toEqual(['forget'])
    expect(await statuses(world.store)).toEqual([])
  })

  it('and takes effect unseen is withdrawn, but not a claim that is somebody else’s', async () => {
    const world = troubled()
    world.trouble('claim', { fails: 'after' }, RESET)
    await expect(world.reprise.run(REQUEST, new Effect().quick)).rejects.toThrow('store')
    await world.wait(1000)
    expect(world.released).toEqual(['forget'])
    expect(await statuses(world.store)).toEqual([])

    const other = new Effect()
    const theirs = world.process().run(REQUEST, other.handler)
    await world.wait(100)
    world.trouble('claim', RESET, RESET)
    await expect(world.process().run(REQUEST, new Effect().quick)).rejects.toThrow('store')
    await world.wait(1000)
    expect(world.released).toEqual(['forget'])
    expect(await statuses(world.store)).toEqual(['running'])
    other.end()
    expect(await theirs).toMatchObject({ outcome: 'executed' })
  })

  it('before the store is ready never reaches it', async () => {
    const world = troubled({ storeTimeoutMs: 4000 })
    let ready = () => {}
    const isReady = new Promise<void>((resolve) => {
      ready = resolve
    })
    world.store.ready = () => isReady
    const run = world.reprise.run(REQUEST, new Effect().quick)
    const failed = expect(run).rejects.toMatchObject({ code: 'idempotency-store-unavailable' })
    await world.wait(10_000)
    await failed
    ready()
    await turn()
    await world.wait(10_000)
    expect(world.claims).toEqual([])
    expect(await statuses(world.store)).toEqual([])
  })
})

describe('a run that lost its record', () => {
  /** A run whose lease lapses while its handler works. */
  async function overtaken(options: Partial<RepriseOptions> = {}) {
    const world = troubled({ marksEffect: true, ...options })
    const hangs = { toMs: NEVER }
    world.trouble('renew', hangs, hangs, hangs, hangs)
    const zombie = new Effect()
    const run = world.reprise.run(REQUEST, zombie.handler)
    await world.wait(LEASE_MS)
    return { world, zombie, run }
  }

  it('is told that another one is running', async () => {
    const { world, zombie, run } = await overtaken()
    const heir = new Effect()
    const second = world.process().run(REQUEST, heir.handler)
    await world.wait(100)
    zombie.end()
    await world.wait(100)
    expect((await run).outcome).toBe('in_progress')
    heir.end()
    await second
  })

  it('gives its own answer where the record has vanished, and leaves none behind', async () => {
    const { world, zombie, run } = await overtaken({ retentionMs: LEASE_MS })
    const heir = await world.process().run(REQUEST, new Effect().quick)
    expect(heir.outcome).toBe('executed')
    const { find } = world.store
    // It expires just after it was found.
    world.store.find = async (id) => {
      const found = await find.call(world.store, id)
      world.clock.advance(2 * LEASE_MS)
      return found
    }
    zombie.end()
    expect((await run).outcome).toBe('executed')
    // The claim that looks makes no record, so there is none to take back.
    expect(world.released).toEqual([])
    world.store.find = find
    expect((await world.process().run(REQUEST, new Effect().quick)).outcome).toBe('executed')
  })
})
