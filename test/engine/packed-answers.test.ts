import { describe, expect, it } from 'vitest'
import { createWorld, Effect, REQUEST, response, text, turn } from './world.ts'

const LARGE = 'a'.repeat(20_000)

describe('an answer that is packed before it is stored', () => {
  it('is the same for whoever asks again', async () => {
    const world = createWorld({ replayCache: false })
    const first = await world.reprise.run(REQUEST, async () => response(201, LARGE))
    expect(first).toMatchObject({ outcome: 'executed', fate: 'stored' })

    const again = await world.process().run(REQUEST, new Effect().quick)
    expect(again.outcome).toBe('replayed')
    expect('response' in again && text(again.response)).toBe(LARGE)
    const [kept] = (await world.store.list({ limit: 1 })).records
    expect(kept?.record.response?.sealed.byteLength).toBeLessThan(1000)
  })

  it.each([
    ['small', () => response(201, '{}')],
    ['large', () => response(201, LARGE)],
  ])(
    'and can not be sealed is given all the same, and the error is told: %s',
    async (_, answer) => {
      const broken = {
        encrypt(): Uint8Array {
          throw new Error('The key is away.')
        },
        decrypt: (bytes: Uint8Array) => bytes,
      }
      const world = createWorld({ encryption: broken })
      const end = await world.reprise.run(REQUEST, async () => answer())

      expect(end).toMatchObject({ outcome: 'executed', response: { status: 201 } })
      expect(world.events).toContainEqual(
        expect.objectContaining({
          type: 'store_error',
          error: expect.objectContaining({ message: 'The key is away.' }),
        }),
      )
    },
  )
})

describe('what a listener is told of the time of a request', () => {
  it('is all of it, what the handler took, and what neither it nor waiting took', async () => {
    const world = createWorld()
    const effect = new Effect()
    const run = world.reprise.run(REQUEST, effect.handler)
    // The handler is called once the record is claimed.
    await turn()
    await world.pass(700)
    const waiting = world.process({ waitMs: 10_000 }).run(REQUEST, effect.handler)
    await world.pass(300)
    effect.end()
    await run
    await world.pass(2000)
    await waiting

    const [executed, replayed] = world.events.filter(({ type }) => /executed|replayed/.test(type))
    expect(executed).toMatchObject({ elapsedMs: 1000, handlerMs: 1000, overheadMs: 0 })
    const { elapsedMs = 0, overheadMs = -1 } = replayed ?? {}
    expect(elapsedMs).toBeGreaterThan(299)
    expect(overheadMs).toBeLessThan(elapsedMs)
  })
})

describe('an effect that is marked before it begins', () => {
  it('extends the lease by its whole length', async () => {
    const world = createWorld({ marksEffect: true, leaseMs: 8000 })
    const { advance } = world.store
    const steps: unknown[] = []
    world.store.advance = (claim, step) => {
      steps.push(step)
      return advance.call(world.store, claim, step)
    }
    await world.reprise.run(REQUEST, async (run) => {
      await run.markEffect()
      return response()
    })
    expect(steps).toEqual([{ recoveryPoint: null, state: null, leaseMs: 8000 }])
  })
})
