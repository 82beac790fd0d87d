/**
 * What watching costs, and what watchers hear.
 *
 * @module
 */

import { describe, expect, it } from 'vitest'
import { createDashboard, type Dashboard } from '../../src/dashboard/index.ts'
import { ReadCache } from '../../src/dashboard/read-cache.ts'
import { memoryAdmin } from './memory-admin.ts'

/** A clock that goes when it is told to. */
function handClock() {
  let now = 0
  let timers: { at: number; callback: () => void }[] = []
  return {
    now: () => now,
    unix: () => now,
    after(ms: number, callback: () => void) {
      const timer = { at: now + ms, callback }
      timers.push(timer)
      return () => {
        timers = timers.filter((one) => one !== timer)
      }
    },
    waiting: () => timers.length,
    /** Goes on step by step; what falls due runs, and what it starts is waited for. */
    async go(ms: number) {
      const end = now + ms
      while (now < end) {
        now += 50
        const due = timers.filter(({ at }) => at <= now)
        timers = timers.filter(({ at }) => at > now)
        for (const { callback } of due) callback()
        for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
      }
    },
  }
}

async function watch(dashboard: Dashboard) {
  const gone = new AbortController()
  const request = new Request('http://ops.example/api/events', { signal: gone.signal })
  const response = await dashboard(request)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  return {
    response,
    leave: () => gone.abort(),
    /** Reads until the stream ends. */
    async ended() {
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) return text
        text += value
      }
    },
    /** Reads until what was heard has this in it. */
    async until(part: string) {
      while (!text.includes(part)) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) throw new Error(`The stream ended after ${text}`)
        text += value
      }
      return text
    },
  }
}

describe('watching', () => {
  it('D-40 begins at once, is not held back by proxies, and has ids', async () => {
    const dashboard = createDashboard({ admin: memoryAdmin(), unsafeNoAuth: true })
    const { response, until, leave } = await watch(dashboard)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-accel-buffering': 'no',
      'cache-control': 'no-cache, no-transform',
    })
    expect(await until('\n\n')).toMatch(/^: connected\nretry: 3000\n\n/)
    const text = await until('event: pulse')
    expect(text).toMatch(/id: 1\nevent: pulse\ndata: \{"now":\d+,"states":/)
    leave()
  })

  it('D-40 says that the store is down, and a heartbeat when there is nothing else', async () => {
    const clock = handClock()
    const admin = memoryAdmin('error')
    const dashboard = createDashboard({ admin, unsafeNoAuth: true, clock, refreshMs: 1000 })
    const { until, leave } = await watch(dashboard)
    await clock.go(20_000)
    const text = await until(': still here')
    expect(text).toContain('event: trouble')
    expect(text).not.toContain('hunter22')
    leave()
  })

  const losses: Readonly<Record<string, () => null | Promise<null>>> = {
    'is taken away': () => null,
    'cannot be told': () => {
      throw new Error('The sessions are down.')
    },
    'is not told in time': () => new Promise(() => {}),
  }

  it.each(Object.keys(losses))('ends when the right to look %s', async (name) => {
    const clock = handClock()
    const access = { isLost: false }
    const lost = losses[name] ?? (() => null)
    const dashboard = createDashboard({
      ...{ admin: memoryAdmin(), clock, refreshMs: 1000 },
      authorize: () => (access.isLost ? lost() : { user: 'ada', can: 'read' }),
    })
    const { until, ended } = await watch(dashboard)
    await until('event: pulse')
    access.isLost = true
    await clock.go(20_000)
    await ended()
    await clock.go(60_000)
    expect(clock.waiting()).toBe(0)
  })

  it('ends within 15 seconds however seldom watchers are told', async () => {
    const clock = handClock()
    const access = { isLost: false }
    const dashboard = createDashboard({
      ...{ admin: memoryAdmin(), clock, refreshMs: 3_600_000 },
      authorize: () => (access.isLost ? null : { user: 'ada', can: 'read' }),
    })
    const { until, ended } = await watch(dashboard)
    await until('event: pulse')
    access.isLost = true
    await clock.go(15_000)
    await ended()
  })

  it('shows what the person may see now, not when they came', async () => {
    const clock = handClock()
    const viewer = { scopes: ['nobody'] }
    const dashboard = createDashboard({
      ...{ admin: memoryAdmin(), clock, refreshMs: 1000 },
      authorize: () => ({ user: 'ada', can: 'read', ...viewer }),
    })
    const { until, leave } = await watch(dashboard)
    const first = await until('event: pulse')
    Object.assign(viewer, { scopes: undefined })
    await clock.go(5000)
    expect((await until('id: 2')).slice(first.length)).toContain('event: pulse')
    leave()
  })

  it('D-70 costs as much for 20 as for one, and nothing when nobody watches', async () => {
    const readings = async (viewers: number) => {
      const clock = handClock()
      const admin = memoryAdmin()
      const dashboard = createDashboard({ admin, unsafeNoAuth: true, clock, refreshMs: 1000 })
      const streams = await Promise.all(Array.from({ length: viewers }, () => watch(dashboard)))
      const look = async () => {
        const paths = ['overview?window=3600000', 'requests?limit=50', 'counts', 'workers']
        const asked = paths.map((path) => dashboard(new Request(`http://ops.example/api/${path}`)))
        await Promise.all(asked)
      }
      for (let second = 0; second < 60; second += 1) {
        // One after the other, so that it is not only those under way that are shared.
        for (let viewer = 0; viewer < viewers; viewer += 1) {
          await look()
          await clock.go(1000 / viewers)
        }
      }
      const queries = Object.values(admin.calls).reduce((sum, one) => sum + one, 0)
      for (const { leave } of streams) leave()
      await clock.go(5000)
      const after = Object.values(admin.calls).reduce((sum, one) => sum + one, 0)
      expect([after, clock.waiting()]).toEqual([queries, 0])
      return queries
    }
    const one = await readings(1)
    const twenty = await readings(20)
    console.info(`readings in a minute: ${one} for 1 viewer, ${twenty} for 20`)
    expect(one).toBeGreaterThan(100)
    expect(twenty).toBeLessThanOrEqual(1.2 * one)
  })
})

describe('a shared reading', () => {
  it('D-70 is made less often when it is slow', async () => {
    const clock = handClock()
    const cache = new ReadCache(clock, 1000)
    let readings = 0
    const read = async () => {
      readings += 1
      await clock.go(500)
      return readings
    }
    await cache.get('a', read)
    await clock.go(4000)
    expect(await cache.get('a', read)).toBe(1)
    await clock.go(1100)
    expect(await cache.get('a', read)).toBe(2)
  })

  it('is made anew after a failure, and after a change', async () => {
    const cache = new ReadCache(handClock(), 1000)
    await expect(cache.get('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await cache.get('a', async () => 1)).toBe(1)
    expect(await cache.get('a', async () => 2)).toBe(1)
    cache.clear()
    expect(await cache.get('a', async () => 3)).toBe(3)
  })

  it('is not kept without end', async () => {
    const cache = new ReadCache(handClock(), 1000)
    for (let index = 0; index < 600; index += 1) await cache.get(`${index}`, async () => index)
    expect(await cache.get('0', async () => 'anew')).toBe('anew')
    expect(await cache.get('599', async () => 'anew')).toBe(599)
  })
})
