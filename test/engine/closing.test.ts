import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/create-admin.ts'
import { createDashboard } from '../../src/dashboard/dashboard.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryDesk } from '../../src/stores/memory/desk.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { keepDuplicates } from '../../src/telemetry/keep-duplicates.ts'
import { keepStats } from '../../src/telemetry/keep-stats.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { createWorkers } from '../../src/workers/workers.ts'
import { REQUEST, response, turn } from './world.ts'

/** A store whose calls are counted, and that fails every call while it is away. */
function watched(clock: FakeClock) {
  const state = { asked: [] as string[], away: undefined as Error | undefined, hangs: false }
  const store = new Proxy<Store>(memoryStore({ clock, desk: memoryDesk }), {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        state.asked.push(String(name))
        if (state.hangs) return new Promise(() => {})
        if (state.away !== undefined && name !== 'close') return Promise.reject(state.away)
        return Reflect.apply(member, target, args)
      }
    },
  })
  return { state, store }
}

/** What a driver says when nobody listens at the address. */
function refused(): Error {
  return Object.assign(new Error('connect ECONNREFUSED 127.0.0.1:1'), {
    ...{ code: 'ECONNREFUSED', syscall: 'connect' },
  })
}

describe('an engine that is closed', () => {
  it('closes the keepers of its store, so that no timer of theirs is left', async () => {
    const clock = new FakeClock()
    const { store } = watched(clock)
    const stats = keepStats(store, { clock })
    const duplicates = keepDuplicates(store, { clock })
    const onEvent = (event: Parameters<typeof stats.onEvent>[0]) => {
      stats.onEvent(event)
      duplicates.onEvent(event)
    }
    const reprise = createReprise({ store, clock, onEvent })
    await reprise.run(REQUEST, async () => response())
    await reprise.run(REQUEST, async () => response())
    expect(clock.timerCount).toBeGreaterThan(0)

    await reprise.close()

    expect(clock.timerCount).toBe(0)
    const hours = await store.desk?.counts.read({ by: 'operation', windowMs: 3_600_000, limit: 10 })
    expect(JSON.stringify(hours)).toContain('POST /charges')
  })

  it('leaves no timer of the keepers when the store has gone away before', async () => {
    const clock = new FakeClock()
    const { state, store } = watched(clock)
    const stats = keepStats(store, { clock })
    const reprise = createReprise({ store, clock, onEvent: stats.onEvent })
    await reprise.run(REQUEST, async () => response())
    state.away = refused()

    await reprise.close()

    expect(clock.timerCount).toBe(0)
  })

  it('gives the keepers half a second when the store keeps silent', async () => {
    const clock = new FakeClock()
    const { store } = watched(clock)
    const desk = { counts: { add: () => new Promise(() => {}) } }
    const silent = Object.assign(Object.create(store), { desk, ready: async () => {} })
    const stats = keepStats(silent, { clock })
    const reprise = createReprise({ store: silent, clock, onEvent: stats.onEvent })
    reprise.skip({ type: 'bypassed', operation: 'POST /charges' })
    const closing = reprise.close()
    await turn()
    clock.advance(500)

    await closing
    expect(clock.timerCount).toBe(0)
  })

  it('stops the workers that were made of it', async () => {
    const clock = new FakeClock()
    const { store } = watched(clock)
    const reprise = createReprise({ store, clock })
    const workers = createWorkers(reprise)
    workers.start()
    await turn()
    expect(workers.reaper?.isRunning).toBe(true)

    await reprise.close()

    expect(workers.reaper?.isRunning).toBe(false)
    expect(clock.timerCount).toBe(0)
  })

  it('closes the sink of the workers that were made of it', async () => {
    const { store } = watched(new FakeClock())
    const reprise = createReprise({ store: Object.assign(Object.create(store), { work: {} }) })
    let closed = 0
    const sink = { name: 'queue', deliver: async () => undefined, close: async () => void closed++ }
    createWorkers(reprise, { sink, enqueuer: false, completer: false, reaper: false })

    await reprise.close()

    expect(closed).toBe(1)
  })

  it('ends the streams of the dashboards that were made of it', async () => {
    const clock = new FakeClock()
    const { store } = watched(clock)
    const reprise = createReprise({ store, clock })
    const admin = createAdmin(reprise)
    const dashboard = createDashboard({ admin, clock, unsafeNoAuth: true })
    const response = await dashboard(new Request('http://localhost/ops/api/events'))
    await turn()

    await reprise.close()

    expect(await response.text()).toContain('connected')
    expect(clock.timerCount).toBe(0)
    const late = await dashboard(new Request('http://localhost/ops/api/events'))
    expect(await late.text()).toBe('')
  })

  it('closes once, however often it is told to', async () => {
    const { state, store } = watched(new FakeClock())
    const reprise = createReprise({ store })

    await Promise.all([reprise.close(), reprise.close()])
    await reprise.with({ waitMs: 1 }).close()

    expect(state.asked.filter((verb) => verb === 'close')).toEqual(['close'])
  })

  it('is closed at once after a request whose claim was never sent, because the store was not ready', async () => {
    const clock = new FakeClock()
    const { state, store } = watched(clock)
    const reprise = createReprise({ store, clock, onEvent: () => {} })
    state.away = new Error('the password is wrong')
    await expect(reprise.run(REQUEST, async () => response())).rejects.toThrow('The store failed')

    await reprise.close()

    expect(clock.timerCount).toBe(0)
  })

  it('is closed at once after a request whose claim was never sent, because nobody listened', async () => {
    const clock = new FakeClock()
    const { state, store } = watched(clock)
    const reprise = createReprise({ store, clock, onEvent: () => {} })
    await reprise.run({ ...REQUEST, key: 'before' }, async () => response())
    state.away = new AggregateError([refused(), refused()])
    await expect(reprise.run(REQUEST, async () => response())).rejects.toThrow('The store failed')

    await reprise.close()

    expect(clock.timerCount).toBe(0)
  })

  it('withdraws for as long as its grace what a lost reply may have claimed, and then asks no more', async () => {
    const clock = new FakeClock()
    const { state, store } = watched(clock)
    const reprise = createReprise({ store, clock, onEvent: () => {} })
    await reprise.run({ ...REQUEST, key: 'before' }, async () => response())
    state.away = new Error('Connection terminated unexpectedly')
    await expect(reprise.run(REQUEST, async () => response())).rejects.toThrow('The store failed')
    let isClosed = false
    const closing = reprise.close({ graceMs: 1000 }).then(() => {
      isClosed = true
    })
    await turn()
    expect(isClosed).toBe(false)

    for (let ms = 0; ms < 1000; ms += 100) {
      clock.advance(100)
      await turn()
    }
    await closing

    const asked = state.asked.length
    expect(clock.timerCount).toBe(0)
    clock.advance(60_000)
    await turn()
    expect(state.asked).toHaveLength(asked)
  })
})
