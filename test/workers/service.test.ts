import { describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/engine/clock.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { type Ran, Service } from '../../src/workers/service.ts'

const EVERY_MS = 1000

/** A worker whose runs last until they are told how they end. */
function manual() {
  const clock = new FakeClock()
  const runs: { end(ran: Ran | Error): void }[] = []
  const told: { done: number; error: unknown; tookMs: number }[] = []
  let started = () => {}
  let wake = () => {}
  let isWatched = false
  const service = new Service({
    ...{ clock, random: { ...systemRandom, fraction: () => 0 }, everyMs: EVERY_MS },
    run: () =>
      new Promise<Ran>((resolve, reject) => {
        runs.push({ end: (ran) => (ran instanceof Error ? reject(ran) : resolve(ran)) })
        started()
      }),
    onRun: async (run) => void told.push(run),
    async watch(news) {
      wake = news
      isWatched = true
      return () => {
        isWatched = false
      }
    },
  })
  /** The run with this number, from 1, once it has begun. */
  const run = async (number: number) => {
    while (runs.length < number) {
      await new Promise<void>((resolve) => {
        started = resolve
      })
    }
    const found = runs[number - 1]
    if (found === undefined) throw new Error(`There is no run ${number}.`)
    return found
  }
  return {
    ...{ clock, runs, told, service, run },
    wake: () => wake(),
    isWatched: () => isWatched,
  }
}

/** Lets everything happen that waits for nothing but its turn. */
const turns = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('a worker in a loop', () => {
  it('runs at once, again at once after work, and after the pause when there was none', async () => {
    const { service, run, runs, clock } = manual()
    service.start()
    ;(await run(1)).end({ done: 3 })
    ;(await run(2)).end({ done: 0 })
    await turns()
    clock.advance(EVERY_MS - 1)
    await turns()
    expect(runs).toHaveLength(2)
    clock.advance(1)
    ;(await run(3)).end({ done: 0 })
    await service.stop()
  })

  it('rests no longer than until the next thing is due', async () => {
    const { service, run, runs, clock } = manual()
    service.start()
    ;(await run(1)).end({ done: 0, nextMs: 50 })
    await turns()
    clock.advance(49)
    await turns()
    expect(runs).toHaveLength(1)
    clock.advance(1)
    ;(await run(2)).end({ done: 0 })
    await service.stop()
  })

  it('is woken by news, also by news that came while it ran', async () => {
    const { service, run, wake, runs } = manual()
    service.start()
    ;(await run(1)).end({ done: 0 })
    await turns()
    wake()
    const second = await run(2)
    wake()
    second.end({ done: 0 })
    ;(await run(3)).end({ done: 0 })
    await turns()
    expect(runs).toHaveLength(3)
    await service.stop()
  })

  it('tells of an error and goes on, after a pause that news do not cut short', async () => {
    const { service, run, runs, told, clock, wake } = manual()
    service.start()
    const first = await run(1)
    wake()
    first.end(new Error('no luck'))
    await turns()
    wake()
    await turns()
    expect(runs).toHaveLength(1)
    expect(told).toMatchObject([{ done: 0, error: { message: 'no luck' } }])
    clock.advance(EVERY_MS)
    ;(await run(2)).end({ done: 0 })
    await service.stop()
    expect(told).toHaveLength(2)
  })

  it('started twice is one loop; stopped twice is stopped', async () => {
    const { service, run, runs, clock, isWatched } = manual()
    service.start()
    service.start()
    ;(await run(1)).end({ done: 0 })
    await turns()
    expect(runs).toHaveLength(1)
    expect(service.isRunning).toBe(true)
    await Promise.all([service.stop(), service.stop()])
    await service.stop()
    expect(service.isRunning).toBe(false)
    expect(isWatched()).toBe(false)
    expect(clock.timerCount).toBe(0)
  })

  it('stops only when the run at hand is over', async () => {
    const { service, run } = manual()
    service.start()
    const first = await run(1)
    let isStopped = false
    const stopped = service.stop().then(() => {
      isStopped = true
    })
    await turns()
    expect(isStopped).toBe(false)
    first.end({ done: 5 })
    await stopped
    expect(isStopped).toBe(true)
  })

  it('runs when it was started after a stop, even one that is not over', async () => {
    const { service, run, runs } = manual()
    service.start()
    const first = await run(1)
    const stopped = service.stop()
    service.start()
    first.end({ done: 0 })
    const second = await run(2)
    expect(runs).toHaveLength(2)
    expect(service.isRunning).toBe(true)
    second.end({ done: 0 })
    await stopped
    await service.stop()
    expect(service.isRunning).toBe(false)
  })

  it('stopped before it began never runs', async () => {
    const { service, runs } = manual()
    service.start()
    await service.stop()
    expect(runs).toHaveLength(0)
  })
})

describe('one run', () => {
  it('gives how much was done, without a loop', async () => {
    const { service, run, clock } = manual()
    const done = service.runOnce()
    ;(await run(1)).end({ done: 7 })
    expect(await done).toBe(7)
    expect(service.isRunning).toBe(false)
    expect(clock.timerCount).toBe(0)
  })

  it('throws what the run throws, and the next one runs all the same', async () => {
    const { service, run } = manual()
    const failed = service.runOnce()
    const next = service.runOnce()
    ;(await run(1)).end(new Error('no luck'))
    await expect(failed).rejects.toThrow('no luck')
    ;(await run(2)).end({ done: 1 })
    expect(await next).toBe(1)
  })

  it('takes its turn behind the run of the loop', async () => {
    const { service, run, runs } = manual()
    service.start()
    const first = await run(1)
    const done = service.runOnce()
    await turns()
    expect(runs).toHaveLength(1)
    first.end({ done: 0 })
    ;(await run(2)).end({ done: 4 })
    expect(await done).toBe(4)
    await service.stop()
  })
})
