import { describe, expect, it } from 'vitest'
import type { CapturedResponse } from '../../src/core/response.ts'
import { createWorld, Effect, REQUEST, response, text, turn } from './world.ts'

const LEASE_MS = 30_000

/** A process that dies with its run under way: nothing of it goes on, its lease lapses. */
function dying(world: ReturnType<typeof createWorld>, options = {}) {
  const effect = new Effect()
  const frozen = { now: world.clock.now.bind(world.clock), after: () => () => {}, unix: () => 0 }
  const process = world.process({ ...options, clock: frozen })
  return { effect, run: () => void process.run(REQUEST, effect.handler) }
}

describe('a run that stopped half way', () => {
  it('is refused by default: never a second effect', async () => {
    const world = createWorld()
    dying(world).run()
    await turn()

    expect((await world.reprise.run(REQUEST, async () => response())).outcome).toBe('in_progress')
    await world.pass(LEASE_MS)

    for (let i = 0; i < 3; i++) {
      const retry = await world.reprise.run(REQUEST, async () => response())
      expect(retry).toEqual({ outcome: 'unknown' })
    }
  })

  it('is run again where the route says that this is harmless', async () => {
    const world = createWorld({ afterCrash: 'rerun' })
    dying(world).run()
    await turn()
    await world.pass(LEASE_MS)
    const effect = new Effect()

    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe('replayed')
    expect(effect.count).toBe(1)
    expect(world.events.map(({ type }) => type)).toContain('recovering')
  })

  it.each<[string, CapturedResponse | 'rerun' | 'refuse', string, number]>([
    ['answers when it finds the effect', response(201, 'found'), 'executed', 0],
    ['has the handler run when there was none', 'rerun', 'executed', 1],
    ['refuses when it can not tell', 'refuse', 'unknown', 0],
  ])('is settled by recover(), which %s', async (_, found, outcome, runs) => {
    const asked: unknown[] = []
    const world = createWorld({
      async afterCrash({ caller, operation, key }) {
        asked.push({ caller, operation, key })
        return found
      },
    })
    dying(world).run()
    await turn()
    await world.pass(LEASE_MS)
    const effect = new Effect()

    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe(outcome)
    expect(asked).toEqual([{ caller: 'acct_1', operation: 'POST /charges', key: 'key-1' }])
    expect(effect.count).toBe(runs)
    const again = await world.reprise.run(REQUEST, effect.quick)
    expect(again.outcome).toBe(outcome === 'unknown' ? 'unknown' : 'replayed')
    if (again.outcome === 'replayed' && runs === 0) expect(text(again.response)).toBe('found')
  })

  it('stays unknown when recover() itself fails, also where effects are marked', async () => {
    let isBroken = true
    const world = createWorld({
      marksEffect: true,
      async afterCrash() {
        if (isBroken) throw new Error('provider down')
        return 'refuse'
      },
    })
    const crashed = world.process({ clock: { now: () => 0, after: () => () => {}, unix: () => 0 } })
    void crashed.run(REQUEST, async (run) => {
      await run.markEffect()
      return new Promise(() => {})
    })
    await turn()
    await world.pass(LEASE_MS)
    const effect = new Effect()

    await expect(world.reprise.run(REQUEST, effect.quick)).rejects.toThrow('provider down')
    isBroken = false
    expect((await world.reprise.run(REQUEST, effect.quick)).outcome).toBe('unknown')
    expect(effect.count).toBe(0)
  })

  it('is run again when it is known to have stopped before its effect', async () => {
    const world = createWorld({ marksEffect: true })
    dying(world).run()
    await turn()
    await world.pass(LEASE_MS)
    const effect = new Effect()

    const retry = await world.reprise.run(REQUEST, effect.quick)

    expect(retry).toMatchObject({ outcome: 'resumed', fate: 'stored' })
    expect(effect.count).toBe(1)
  })
})

describe('a handler that throws', () => {
  it('passes its error through and leaves the outcome unknown', async () => {
    const { reprise } = createWorld()
    const error = new Error('after the effect')

    await expect(reprise.run(REQUEST, async () => Promise.reject(error))).rejects.toBe(error)

    expect((await reprise.run(REQUEST, async () => response())).outcome).toBe('unknown')
  })

  it('frees the key when it had not marked its effect', async () => {
    const { reprise } = createWorld({ marksEffect: true })
    const effect = new Effect()

    await expect(
      reprise.run(REQUEST, async () => Promise.reject(new Error('early'))),
    ).rejects.toThrow('early')

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('executed')
  })

  it('does not free the key once it has', async () => {
    const { reprise } = createWorld({ marksEffect: true })
    const effect = new Effect()

    const run = reprise.run(REQUEST, async (own) => {
      await own.markEffect()
      throw new Error('late')
    })
    await expect(run).rejects.toThrow('late')

    expect((await reprise.run(REQUEST, effect.quick)).outcome).toBe('unknown')
    expect(effect.count).toBe(0)
  })

  it('leaves the outcome unknown when the policy throws as well', async () => {
    const { reprise } = createWorld({
      policy() {
        throw new Error('policy')
      },
    })

    await expect(reprise.run(REQUEST, async () => response())).rejects.toThrow('policy')

    expect((await reprise.run(REQUEST, async () => response())).outcome).toBe('unknown')
  })
})

describe('the lease of a long run', () => {
  it('is renewed for as long as the handler works', async () => {
    const world = createWorld()
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, effect.handler)
    await turn()

    for (let i = 0; i < 10; i++) await world.pass(LEASE_MS)
    const duplicate = await world.process().run(REQUEST, effect.quick)
    effect.end()

    expect(duplicate.outcome).toBe('in_progress')
    expect(await first).toMatchObject({ outcome: 'executed', fate: 'stored' })
    expect(world.clock.timerCount).toBe(0)
  })

  it('holds the record past its retention while the handler works', async () => {
    const world = createWorld({ retentionMs: LEASE_MS })
    const effect = new Effect()
    void world.reprise.run(REQUEST, effect.handler)
    await turn()

    for (let i = 0; i < 5; i++) await world.pass(LEASE_MS)

    const duplicate = await world.process().run(REQUEST, effect.quick)
    expect(duplicate.outcome).toBe('in_progress')
    effect.end()
  })

  it('aborts the signal of a zombie, refuses its answer and gives it the successor’s', async () => {
    const world = createWorld({ afterCrash: 'rerun' })
    let isFrozen = true
    const paused = {
      now: () => world.clock.now(),
      unix: () => world.clock.unix(),
      after: (ms: number, callback: () => void) =>
        world.clock.after(ms, () => void (isFrozen || callback())),
    }
    const zombieEffect = new Effect()
    const signals: AbortSignal[] = []
    const zombie = world.process({ clock: paused }).run(REQUEST, async ({ signal }) => {
      signals.push(signal)
      return zombieEffect.handler()
    })
    await turn()
    await world.pass(LEASE_MS)
    const heir = await world.reprise.run(REQUEST, async () => response(201, 'heir'))
    isFrozen = false
    zombieEffect.end(response(201, 'zombie'))

    expect(heir.outcome).toBe('executed')
    const end = await zombie
    expect(end.outcome).toBe('replayed')
    if (end.outcome === 'replayed') expect(text(end.response)).toBe('heir')
    expect(signals).toHaveLength(1)
  })

  it('aborts the signal when another run has taken over', async () => {
    const world = createWorld({ afterCrash: 'rerun' })
    let reason: unknown
    const effect = new Effect()
    const first = world.reprise.run(REQUEST, async ({ signal }) => {
      signal.addEventListener('abort', () => {
        reason = signal.reason
      })
      return effect.handler()
    })
    await turn()
    const { record } = (await world.store.list({ limit: 1 })).records[0] ?? {}
    if (record?.owner == null) throw new Error('no owner')
    await world.store.release({ ...record, owner: record.owner }, 'suspend')

    await world.pass(LEASE_MS / 2)
    effect.end()
    await first

    expect(reason).toMatchObject({ code: 'reprise-lease-lost' })
    expect(world.events.map(({ type }) => type)).toContain('lease_lost')
  })
})

describe('an unfinished record past its retention', () => {
  it('gives way to a fresh run, and the listener is told', async () => {
    const world = createWorld({ retentionMs: 60_000 })
    dying(world).run()
    await turn()
    await world.pass(60_000)
    const effect = new Effect()

    const retry = await world.reprise.run(REQUEST, effect.quick)

    expect(retry.outcome).toBe('executed')
    expect(world.events.map(({ type }) => type)).toContain('abandoned')
  })
})
