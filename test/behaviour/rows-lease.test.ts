import { describe, expect, it } from 'vitest'
import { runOf } from '../../src/adapters/run-of.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { serveCharges } from './api.ts'
import { Gate } from './gate.ts'

const LEASE_MS = 30_000

describe('a run that lasts', () => {
  it('row 17: too long and is taken over can not store its answer: its client gets the winner’s', async () => {
    const clock = new FakeClock()
    const gate = new Gate()
    const store = memoryStore({ clock })
    const options = { engine: { store, leaseMs: LEASE_MS }, afterCrash: 'rerun' } as const
    const stale = await serveCharges({
      ...options,
      async handle(_, response) {
        await gate.pass()
        response.status(201).json('stale')
      },
    })
    const next = await serveCharges({
      ...options,
      handle: (_, response) => response.status(201).json('winner'),
    })
    const first = stale.send({ key: 'k' })
    await gate.reached()
    clock.advance(LEASE_MS)
    expect((await next.send({ key: 'k' })).json).toBe('winner')
    gate.open()

    const answered = await first
    expect(answered.json).toBe('winner')
    expect(answered.header('Idempotent-Replayed')).toBe('true')
    expect((await stale.send({ key: 'k' })).json).toBe('winner')
    expect(await stale.records()).toMatchObject([{ fence: 2 }])
  })

  it('row 17: into the time of a run that has no answer yet tells its client to ask again', async () => {
    const clock = new FakeClock()
    const [slow, slower] = [new Gate(), new Gate()]
    const store = memoryStore({ clock })
    const options = { engine: { store, leaseMs: LEASE_MS }, afterCrash: 'rerun' } as const
    const serve = (gate: Gate, answer: string) =>
      serveCharges({
        ...options,
        async handle(_, response) {
          await gate.pass()
          response.json(answer)
        },
      })
    const [stale, next] = [await serve(slow, 'stale'), await serve(slower, 'winner')]
    const first = stale.send({ key: 'k' })
    await slow.reached()
    clock.advance(LEASE_MS)
    const second = next.send({ key: 'k' })
    await slower.reached()
    slow.open()

    expect((await first).status).toBe(409)
    slower.open()
    expect((await second).json).toBe('winner')
  })

  it('row 27: longer than its lease keeps it by renewing', async () => {
    const clock = new FakeClock()
    const gate = new Gate()
    const charges = await serveCharges({
      engine: { store: memoryStore({ clock }), clock, leaseMs: LEASE_MS },
      afterCrash: 'rerun',
      async handle(_, response) {
        await gate.pass()
        response.json('done')
      },
    })
    const first = charges.send({ key: 'k' })
    await gate.reached()
    for (let passed = 0; passed < 10 * LEASE_MS; passed += LEASE_MS / 6) {
      clock.advance(LEASE_MS / 6)
      await new Promise(setImmediate)
    }
    expect((await charges.send({ key: 'k' })).status).toBe(409)
    gate.open()
    expect((await first).json).toBe('done')
    expect(charges.runs()).toBe(1)
  })

  it('row 27: and has lost its lease is told by its signal', async () => {
    const [clock, storeClock] = [new FakeClock(), new FakeClock()]
    const gate = new Gate()
    const store = memoryStore({ clock: storeClock })
    const aborted: unknown[] = []
    const charges = await serveCharges({
      engine: { store, clock, leaseMs: LEASE_MS, afterCrash: 'rerun' },
      async handle(request, response) {
        const run = runOf(request)
        if (run === undefined || !('signal' in run)) throw new Error('There is no run.')
        const lost = new Promise<void>((resolve) => {
          run.signal.addEventListener('abort', () => resolve())
        })
        await gate.pass()
        await lost
        aborted.push(run.signal.reason)
        response.json('stale')
      },
    })
    const other = await serveCharges({ engine: { store, leaseMs: LEASE_MS }, afterCrash: 'rerun' })
    const first = charges.send({ key: 'k' })
    await gate.reached()
    storeClock.advance(LEASE_MS)
    await other.send({ key: 'k' })
    gate.open()
    clock.advance(LEASE_MS / 3)

    expect((await first).json).toEqual({ id: 'ch_1' })
    expect(aborted).toMatchObject([{ code: 'reprise-lease-lost' }])
  })
})

describe('a server that stops', () => {
  it('row 26: while an answer is being stored still sends it', async () => {
    const gate = new Gate()
    const inner = memoryStore()
    const finish: Store['finish'] = async (...args) => {
      await gate.pass()
      return inner.finish(...args)
    }
    const store = new Proxy(inner, {
      get(target, name) {
        const member: unknown = name === 'finish' ? finish : Reflect.get(target, name)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
    const charges = await serveCharges({ engine: { store } })
    const sent = charges.send({ key: 'k' })
    await gate.reached()
    charges.stop()
    gate.open()
    expect((await sent).json).toEqual({ id: 'ch_1' })
  })
})
