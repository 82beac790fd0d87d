import { describe, expect, it } from 'vitest'
import type { JobBatch, JobStore, StagedJob, Undelivered } from '../../src/engine/work.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { enqueue } from '../../src/workers/enqueuer.ts'
import type { Delivery, Sink } from '../../src/workers/index.ts'
import { Rudder, watching } from '../../src/workers/rudder.ts'
import { turn } from '../engine/world.ts'

const TIMEOUT_MS = 1000

function job(id: string): StagedJob {
  return { id, name: 'mail', args: {}, attempt: 1, stagedAt: 0 }
}

/** Batches in memory, which write down what becomes of them. */
class Batches implements JobStore<string> {
  readonly log: string[] = []
  readonly settled: (readonly Undelivered[])[] = []
  /** Thrown by the next `settle`. */
  failure: Error | undefined
  taken: unknown
  readonly #batches: string[][]

  constructor(...batches: string[][]) {
    this.#batches = batches
  }

  async take(
    ...request: Parameters<JobStore<string>['take']>
  ): Promise<JobBatch<string> | undefined> {
    this.taken = request
    const ids = this.#batches.shift()
    if (ids === undefined) return undefined
    return {
      jobs: ids.map(job),
      tx: 'tx',
      within: async (work) => {
        this.log.push('within')
        return work('tx')
      },
      settle: async (undelivered) => {
        this.log.push('settle')
        if (this.failure !== undefined) throw this.failure
        this.settled.push(undelivered)
      },
      rollback: async () => void this.log.push('rollback'),
    }
  }

  async nextDueMs(): Promise<number> {
    return 77
  }

  async watch(): Promise<() => void> {
    return () => {}
  }
}

/** Runs an enqueuer once, with the clock moving by itself past everything that hangs. */
async function run(jobs: Batches, deliver: Sink<string>['deliver']) {
  const clock = new FakeClock()
  const patience = { retryMs: 1, retryMsMax: 10, attemptsMax: 3 }
  const parts = {
    jobs,
    sink: { name: 'sink', deliver },
    clock,
    batchMax: 10,
    timeoutMs: TIMEOUT_MS,
  }
  const state = { isOver: false }
  const ran = enqueue({ ...parts, patience }).finally(() => {
    state.isOver = true
  })
  for (let turns = 0; turns < 100 && !state.isOver; turns++) {
    await turn()
    clock.advance(TIMEOUT_MS)
  }
  return ran
}

const never = () => new Promise<never>(() => {})

describe('a batch of jobs', () => {
  it('is taken for as long as a sink may take twice, and a slow database besides', async () => {
    const jobs = new Batches()
    expect(await run(jobs, async () => undefined)).toEqual({ done: 0, nextMs: 77 })
    expect(jobs.taken).toMatchObject([
      { limit: 10, silentMsMax: 3 * TIMEOUT_MS },
      { attemptsMax: 3 },
    ])
  })

  it('that can not be settled is left where it was, and the error is told', async () => {
    const jobs = new Batches(['a'])
    jobs.failure = new Error('The database is away.')
    const ran = await run(jobs, async () => undefined)

    expect(ran).toMatchObject({ done: 0, error: { message: 'The database is away.' } })
    expect(jobs.log).toEqual(['within', 'settle', 'rollback'])
  })

  it('counts as done without what the sink has not taken', async () => {
    const jobs = new Batches(['a', 'b'], ['c'])
    const ran = await run(jobs, async ([first]) => {
      return first?.id === 'a' ? [{ id: 'a', error: 'no' }] : undefined
    })

    expect(ran).toEqual({ done: 2, nextMs: 77 })
    expect(jobs.settled).toEqual([[{ id: 'a', error: 'no' }], []])
  })

  it('is one of a hundred at most, so that the heartbeat of the worker is seen', async () => {
    const jobs = new Batches(...Array.from({ length: 101 }, (_, number) => [`job ${number}`]))
    expect(await run(jobs, async () => undefined)).toEqual({ done: 100 })
    expect(await run(jobs, async () => undefined)).toEqual({ done: 1, nextMs: 77 })
  })

  it('at whose every job the sink throws is not to blame: the sink is down', async () => {
    const jobs = new Batches(['a', 'b'], ['c'])
    const ran = await run(jobs, async () => {
      throw new Error('refused')
    })

    expect(ran).toMatchObject({
      done: 0,
      error: { message: 'The sink sink is down. Error: refused' },
    })
    const down = { error: 'Error: refused', isSinkDown: true }
    expect(jobs.settled).toEqual([
      [
        { id: 'a', ...down },
        { id: 'b', ...down },
      ],
    ])
  })

  it('of one job at which the sink throws says that the sink is down', async () => {
    const jobs = new Batches(['a'])
    const ran = await run(jobs, async () => {
      throw new Error('refused')
    })

    expect(ran).toMatchObject({
      done: 0,
      error: { message: 'The sink sink is down. Error: refused' },
    })
    expect(jobs.log).toEqual(['within', 'settle'])
  })

  const late = expect.stringContaining('took more than 1000 ms')
  it.each<[string, string, unknown[]]>([
    [
      'the first two jobs is down, and the third is not tried',
      'ab',
      ['a', 'b', 'c'].map((id) => ({ id, error: late, isSinkDown: true })),
    ],
    ['one job of three blames that job', 'a', [{ id: 'a', error: late }]],
    [
      'two jobs after it has taken one blames these',
      'bc',
      ['b', 'c'].map((id) => ({ id, error: late })),
    ],
  ])('whose sink hangs at %s', async (_, hanging, undelivered) => {
    const jobs = new Batches(['a', 'b', 'c'])
    const alone: string[] = []
    await run(jobs, async (given) => {
      if (given.length > 1) throw new Error('one by one')
      const id = given[0]?.id ?? ''
      alone.push(id)
      return hanging.includes(id) ? never() : undefined
    })

    expect(jobs.settled).toEqual([undelivered])
    expect(alone).toEqual(hanging === 'ab' ? ['a', 'b'] : ['a', 'b', 'c'])
  })

  it('ends the sink’s access to its transaction with the delivery', async () => {
    const jobs = new Batches(['a'])
    let kept: Delivery<string> | undefined
    await run(jobs, async (_, delivery) => {
      kept = delivery
      expect(delivery.tx).toBe('tx')
      expect(await delivery.within(async (tx) => tx)).toBe('tx')
      return undefined
    })
    const before = jobs.log.length
    await expect(kept?.within(async () => 'late')).rejects.toMatchObject({
      code: 'reprise-transaction-over',
    })
    expect(jobs.log).toHaveLength(before)
  })

  it('has its sink told to stop when it takes too long, and heard for as long again', async () => {
    const jobs = new Batches(['a', 'b'])
    const ran = await run(jobs, (_, { signal }) => {
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => {
          resolve([{ id: 'b', error: String(signal.reason), isSinkDown: true }])
        })
      })
    })

    expect(ran.done).toBe(1)
    expect(jobs.settled).toEqual([
      [{ id: 'b', error: 'Error: The sink sink took more than 1000 ms.', isSinkDown: true }],
    ])
  })
})

describe('the rudder of a worker', () => {
  it('lets a paused worker run once for each order that comes after it first looked', async () => {
    const steering = { isPaused: true, runs: 5 }
    const rudder = new Rudder({ steering: async () => steering }, 'completer')
    expect(await rudder.isHalted()).toBe(true)
    expect(await rudder.isHalted()).toBe(true)
    steering.runs = 6
    expect(await rudder.isHalted()).toBe(false)
    expect(await rudder.isHalted()).toBe(true)
    steering.isPaused = false
    expect(await rudder.isHalted()).toBe(false)
  })

  it('halts nobody where nobody can steer', async () => {
    expect(await new Rudder(undefined, 'reaper').isHalted()).toBe(false)
    expect(watching(undefined)).toBeUndefined()
  })

  it('watches through those that can be watched, and ends them all', async () => {
    const log: string[] = []
    const watch = (name: string) => async (wake: () => void) => {
      wake()
      return () => void log.push(`end ${name}`)
    }
    const broken = () => Promise.reject(new Error('no'))
    const end = await watching(watch('a'), broken, undefined, watch('b'))?.(() => log.push('wake'))
    end?.()
    expect(log).toEqual(['wake', 'wake', 'end a', 'end b'])
  })
})
