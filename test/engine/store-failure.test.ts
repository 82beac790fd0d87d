import { describe, expect, it } from 'vitest'
import type { Store } from '../../src/engine/store.ts'
import { createWorld, Effect, REQUEST, response, turn } from './world.ts'

type Verb = 'claim' | 'finish' | 'release' | 'renew' | 'find' | 'advance'
type Fault = 'before' | 'after' | 'hang'

/** A store whose calls fail as told: before they take effect, after it, or by never answering. */
class Faults {
  readonly #faults = new Map<Verb, Fault[]>()
  readonly calls: Verb[] = []

  next(verb: Verb, ...faults: Fault[]): void {
    this.#faults.set(verb, faults)
  }

  readonly wrap = (store: Store): Store =>
    new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          this.calls.push(name as Verb)
          const call = () => Reflect.apply(member, target, args) as Promise<unknown>
          return this.#fail(this.#faults.get(name as Verb)?.shift(), call)
        }
      },
    })

  async #fail(fault: Fault | undefined, call: () => Promise<unknown>): Promise<unknown> {
    if (fault === 'hang') return new Promise(() => {})
    if (fault === 'before') throw new Error('connection reset')
    const answer = await call()
    if (fault === 'after') throw new Error('connection reset')
    return answer
  }
}

function createFaulty(options = {}) {
  const faults = new Faults()
  return { faults, ...createWorld(options, faults.wrap) }
}

const UNAVAILABLE = { code: 'idempotency-store-unavailable', retryable: true }

describe('a store that fails while the key is claimed', () => {
  it('never has the handler run', async () => {
    const { reprise, faults } = createFaulty()
    const effect = new Effect()
    faults.next('claim', 'before', 'before')

    await expect(reprise.run(REQUEST, effect.quick)).rejects.toMatchObject(UNAVAILABLE)

    expect(effect.count).toBe(0)
  })

  it('is asked again, and the owner recognises its own claim', async () => {
    const { reprise, faults } = createFaulty()
    const effect = new Effect()
    faults.next('claim', 'after')

    const result = await reprise.run(REQUEST, effect.quick)

    expect(result).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(effect.count).toBe(1)
  })

  it('does not leave the key blocked by a claim that took effect unseen', async () => {
    const { reprise, faults, pass } = createFaulty()
    const effect = new Effect()
    faults.next('claim', 'after', 'after')
    await expect(reprise.run(REQUEST, effect.quick)).rejects.toMatchObject(UNAVAILABLE)

    await pass(1000)

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
  })

  it('does not forget what an earlier run left when its takeover fails unseen', async () => {
    const { reprise, faults, pass, process } = createFaulty({ afterCrash: async () => 'refuse' })
    const dead = process({ clock: { now: () => 0, after: () => () => {}, unix: () => 0 } })
    void dead.run(REQUEST, () => new Promise(() => {}))
    await turn()
    await pass(30_000)
    const effect = new Effect()
    faults.next('claim', 'after', 'after')
    await expect(reprise.run(REQUEST, effect.quick)).rejects.toMatchObject(UNAVAILABLE)

    await pass(1000)

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('unknown')
    expect(effect.count).toBe(0)
  })

  it('is given up after its time when it hangs, and not asked twice', async () => {
    const { reprise, faults, pass } = createFaulty({ storeTimeoutMs: 2000 })
    faults.next('claim', 'hang', 'hang')
    const run = expect(reprise.run(REQUEST, async () => response())).rejects.toMatchObject(
      UNAVAILABLE,
    )
    await turn()

    await pass(2000)

    await run
    expect(faults.calls.filter((verb) => verb === 'claim')).toHaveLength(1)
  })
})

describe('a store that fails while the answer is stored', () => {
  it('is asked again', async () => {
    const { reprise, faults } = createFaulty()
    faults.next('finish', 'before')

    const result = await reprise.run(REQUEST, async () => response())

    expect(result).toMatchObject({ outcome: 'executed', fate: 'stored' })
  })

  it('does not turn a success into a failure: the client gets the answer, duplicates wait', async () => {
    const { reprise, faults, events } = createFaulty({ replayCache: false })
    const effect = new Effect()
    faults.next('finish', 'before', 'before')

    const result = await reprise.run(REQUEST, effect.quick)

    expect(result).toMatchObject({
      outcome: 'executed',
      fate: 'not_stored',
      response: { status: 201 },
    })
    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('in_progress')
    expect(effect.count).toBe(1)
    expect(events.map(({ type }) => type)).toContain('not_stored')
  })

  it('gets the answer later, in the background', async () => {
    const { reprise, faults, pass } = createFaulty()
    const effect = new Effect()
    faults.next('finish', 'before', 'before', 'before')
    await reprise.run(REQUEST, effect.quick)

    await pass(1000)

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('replayed')
    expect(effect.count).toBe(1)
  })

  it('leaves the outcome to the crash policy when it never comes back', async () => {
    const { reprise, faults, pass } = createFaulty({ replayCache: false })
    const effect = new Effect()
    faults.next('finish', ...Array<Fault>(100).fill('before'))
    await reprise.run(REQUEST, effect.quick)

    await pass(60_000)

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('unknown')
    expect(effect.count).toBe(1)
  })

  it('recognises the finish that took effect unseen', async () => {
    const { reprise, faults } = createFaulty({ replayCache: false })
    faults.next('finish', 'after')

    const result = await reprise.run(REQUEST, async () => response())

    expect(result).toMatchObject({ fate: 'stored' })
    expect((await reprise.run(REQUEST, async () => response())).outcome).toBe('replayed')
  })
})

describe('a store that fails in between', () => {
  it('aborts the run when no renewal succeeds for a whole lease', async () => {
    const { reprise, faults, pass } = createFaulty()
    faults.next('renew', ...Array<Fault>(10).fill('before'))
    const effect = new Effect()
    let reason: unknown
    const run = reprise.run(REQUEST, async ({ signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return effect.handler()
    })
    await turn()

    await pass(40_000)
    effect.end()

    expect(reason).toMatchObject({ code: 'reprise-lease-lost' })
    // Nobody took over meanwhile, so its answer still counts.
    expect(await run).toMatchObject({ outcome: 'executed', fate: 'stored' })
  })

  it('survives renewals that fail now and then', async () => {
    const { reprise, faults, pass, process } = createFaulty()
    faults.next('renew', 'before', 'before')
    const effect = new Effect()
    const run = reprise.run(REQUEST, effect.handler)
    await turn()

    await pass(35_000)

    expect((await process().run(REQUEST, effect.quick)).outcome).toBe('in_progress')
    effect.end()
    expect(await run).toMatchObject({ fate: 'stored' })
  })

  it('does not let the effect begin when it can not be marked', async () => {
    const { reprise, faults } = createFaulty({ marksEffect: true })
    faults.next('advance', 'before')
    let hasBegun = false

    const run = reprise.run(REQUEST, async (own) => {
      await own.markEffect()
      hasBegun = true
      return response()
    })

    await expect(run).rejects.toMatchObject(UNAVAILABLE)
    expect(hasBegun).toBe(false)
  })

  it('passes the handler’s own error on when the release fails', async () => {
    const { reprise, faults } = createFaulty()
    faults.next('release', 'before')

    const run = reprise.run(REQUEST, async () => Promise.reject(new Error('mine')))

    await expect(run).rejects.toThrow('mine')
  })

  it('never stores under a claim that another run has taken over', async () => {
    const { reprise, store } = createFaulty()
    const effect = new Effect()
    const run = reprise.run(REQUEST, effect.handler)
    await turn()
    const { record } = (await store.list({ limit: 1 })).records[0] ?? {}
    if (record?.owner == null) throw new Error('no owner')
    await store.release({ ...record, owner: record.owner }, 'forget')
    effect.end()

    expect(await run).toMatchObject({ outcome: 'executed', fate: 'not_stored' })
    expect(await store.find(record.id)).toBeUndefined()
  })
})
