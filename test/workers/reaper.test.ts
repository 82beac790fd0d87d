import { describe, expect, it } from 'vitest'
import { systemRandom } from '../../src/engine/clock.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import type { Store } from '../../src/engine/store.ts'
import { memoryStore } from '../../src/stores/memory/index.ts'
import { FakeClock } from '../../src/testing/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { reap } from '../../src/workers/reaper.ts'

const BATCH = 10
/** How long a batch takes, in milliseconds. */
const TOOK_MS = 8

/** A reaper with so many records to delete, whose batches take their time. */
function reaper(expired: number, tookMs = TOOK_MS) {
  const clock = new FakeClock()
  const batches: number[] = []
  let left = expired
  let isStopping = false
  const store: Store = Object.assign(memoryStore(), {
    async sweep(limit: number) {
      batches.push(clock.now())
      clock.advance(tookMs)
      const swept = Math.min(limit, left)
      left -= swept
      return swept
    },
  })
  const run = reap(
    {
      ...{ store, clock, random: systemRandom, operations: new Map() },
      ...{ batchMax: BATCH, shareMax: 0.25, leaseMs: 1000, countsMs: 0, notesMs: 0 },
    },
    () => isStopping,
  )
  const stop = () => {
    isStopping = true
  }
  return { clock, batches, run, stop }
}

/** Lets everything happen that waits for nothing but its turn. */
const turns = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('the reaper', () => {
  it('rests after each batch for three times as long as it took', async () => {
    const { clock, batches, run } = reaper(2 * BATCH + 1)
    await turns()
    clock.advance(3 * TOOK_MS - 1)
    await turns()
    expect(batches).toEqual([0])

    clock.advance(1)
    await turns()
    clock.advance(3 * TOOK_MS)
    // The last batch is not full, so nothing is left to rest for.
    expect(await run).toMatchObject({ done: 2 * BATCH + 1 })
    expect(batches).toEqual([0, 4 * TOOK_MS, 8 * TOOK_MS])
  })

  it('leaves the rest for later when it is told to stop', async () => {
    const { clock, batches, run, stop } = reaper(5 * BATCH)
    await turns()
    stop()
    clock.advance(3 * TOOK_MS)
    expect(await run).toMatchObject({ done: BATCH })
    expect(batches).toHaveLength(1)
  })

  it('is told to stop by who stops its loop, and not in a single run', async () => {
    const told: boolean[] = []
    let begun = () => {}
    const store: Store = Object.assign(memoryStore(), {
      async sweep(limit: number) {
        begun()
        return told.push(true) < 3 ? limit : 0
      },
    })
    const { reaper } = createWorkers(createReprise({ store }), { reaper: { shareMax: 1 } })
    expect(await reaper?.runOnce()).toBe(2000)

    told.length = 0
    const started = new Promise<void>((resolve) => {
      begun = resolve
    })
    reaper?.start()
    await started
    await reaper?.stop()
    expect(told).toHaveLength(1)
  })

  it('does not rest for long after a batch that took long', async () => {
    const { clock, batches } = reaper(5 * BATCH, 60_000)
    await turns()
    clock.advance(1000)
    await turns()
    expect(batches).toHaveLength(2)
  })

  it('ends a run after ten seconds, and goes on at once', async () => {
    const clock = new FakeClock()
    let batches = 0
    const store: Store = Object.assign(memoryStore({ clock }), {
      async sweep(limit: number) {
        if (++batches > 10) throw new Error('It does not end.')
        clock.advance(4000)
        return limit
      },
    })
    let told = (_runs: number[]) => {}
    const runs: number[] = []
    const isTwice = new Promise<number[]>((resolve) => {
      told = resolve
    })
    const onEvent = ({ done }: { done: number }) => {
      if (runs.push(done) === 2) told(runs)
    }
    const reprise = createReprise({ store, clock })
    const { reaper } = createWorkers(reprise, { onEvent, reaper: { shareMax: 1 } })
    reaper?.start()

    expect((await isTwice).slice(0, 2)).toEqual([3000, 3000])
    await reaper?.stop()
  })

  it.each([0, -1, 1.01, Number.NaN])('takes no share of %s', (shareMax) => {
    const reprise = createReprise({ store: memoryStore() })
    expect(() => createWorkers(reprise, { reaper: { shareMax } })).toThrow(/reaper.shareMax/)
  })
})
