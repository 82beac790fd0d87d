import { describe, expect, it, vi } from 'vitest'
import { functionSink } from '../../src/sinks/function.ts'
import { FakeClock } from '../../src/testing/index.ts'
import {
  createWorkers,
  type EnqueuerOptions,
  type Sink,
  type StagedJob,
  type WorkerEvent,
} from '../../src/workers/index.ts'
import { freshNode, jobRows, type Node, node } from './world.ts'

/** Nothing here waits this long: it is the net under a test that would hang. */
const NEVER_MS = 600_000

const refusal = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

/** An enqueuer that only runs when told. */
function enqueuer(
  { reprise }: Pick<Node, 'reprise'>,
  sink: Sink,
  { onEvent = () => {}, ...options }: EnqueuerOptions & { onEvent?(event: WorkerEvent): void } = {},
) {
  const workers = createWorkers(reprise, {
    ...{ sink, completer: false, reaper: false, onEvent },
    enqueuer: { everyMs: NEVER_MS, ...options },
  })
  if (workers.enqueuer === undefined) throw new Error('There is no enqueuer.')
  return workers.enqueuer
}

/** A sink that takes everything, and remembers it. */
function recorder() {
  const taken: StagedJob[] = []
  const batches: number[] = []
  /** By the name of the job; in milliseconds since 1970. */
  const handedOverAt = new Map<string, number>()
  const sink: Sink = {
    name: 'recorder',
    async deliver(jobs) {
      taken.push(...jobs)
      for (const { name } of jobs) handedOverAt.set(name, Date.now())
      batches.push(jobs.length)
      return undefined
    },
  }
  return { sink, taken, batches, handedOverAt, names: () => taken.map(({ name }) => name) }
}

/** Makes every job due, as if the time had passed. */
async function makeDue({ pool }: Pick<Node, 'pool'>): Promise<void> {
  await pool.query(`update reprise.staged_jobs set run_at = now() - interval '1 second'
                     where run_at is not null`)
}

describe('the enqueuer hands over', () => {
  it('what was committed, in the order of staging, with id, name and arguments', async () => {
    const world = await freshNode()
    const { sink, taken } = recorder()
    const ids: string[] = []
    await world.stageAll(async (stage) => {
      for (const n of [1, 2, 3]) ids.push(await stage(`job ${n}`, { n }))
    })
    await world.stageAll((stage) => stage('never', {}), 'rollback')
    await world.stageAll(async (stage) => ids.push(await stage('job 4', null)))

    expect(await enqueuer(world, sink).runOnce()).toBe(4)
    expect(taken.map(({ id }) => id)).toEqual(ids)
    expect(taken).toMatchObject([
      { name: 'job 1', args: { n: 1 }, attempt: 1 },
      { name: 'job 2', args: { n: 2 } },
      { name: 'job 3', args: { n: 3 } },
      { name: 'job 4', args: null },
    ])
    expect(await jobRows(world)).toEqual([])
  })

  it('in batches', async () => {
    const world = await freshNode()
    const { sink, batches } = recorder()
    await world.stageAll(async (stage) => {
      for (let n = 0; n < 7; n++) await stage('job', n)
    })
    expect(await enqueuer(world, sink, { batchMax: 3 }).runOnce()).toBe(7)
    expect(batches).toEqual([3, 3, 1])
  })

  it('a job not before its time, and then without waiting for the poll', async () => {
    const world = await freshNode()
    const { sink, names, handedOverAt } = recorder()
    const dueAt = Date.now() + 400
    await world.stageAll(async (stage) => {
      await stage('later', 1, { runAt: new Date(dueAt) })
      await stage('much later', 1, { runAt: new Date(Date.now() + NEVER_MS) })
      await stage('now', 1)
      await stage('overdue', 1, { runAt: new Date(0) })
    })
    const worker = enqueuer(world, sink)
    worker.start()
    await vi.waitUntil(() => names().includes('later'), { timeout: 90_000 })
    expect(handedOverAt.get('later')).toBeGreaterThanOrEqual(dueAt)
    await worker.stop()
    // On a busy machine `later` may be due before the enqueuer starts.
    expect(names().filter((name) => name !== 'later')).toEqual(['overdue', 'now'])
    expect(await jobRows(world)).toMatchObject([{ name: 'much later', attempts: 0 }])
  })

  it('a job whose transaction commits late, though later ones have gone', async () => {
    const world = await freshNode()
    const { sink, names } = recorder()
    const worker = enqueuer(world, sink)
    await world.stageAll(async (stage) => {
      await stage('early', 1)
      await world.stageAll((other) => other('late', 1))
      expect(await worker.runOnce()).toBe(1)
    })
    expect(await worker.runOnce()).toBe(1)
    expect(names()).toEqual(['late', 'early'])
  })
})

describe('a deduplication key', () => {
  it('lets one job wait at a time, under the same id whenever it is staged', async () => {
    const world = await freshNode()
    const { sink, taken } = recorder()
    const ids: string[] = []
    const stage = (args: number) =>
      world.stageAll(async (run) => ids.push(await run('mail', args, { dedupeKey: 'k' })))
    await stage(1)
    await stage(2)
    expect(await jobRows(world)).toHaveLength(1)
    const worker = enqueuer(world, sink)
    await worker.runOnce()
    await stage(3)
    await worker.runOnce()
    expect(new Set(ids).size).toBe(1)
    expect(taken).toMatchObject([
      { id: ids[0], args: 1 },
      { id: ids[0], args: 3 },
    ])
  })

  it('belongs to its name: no two names and keys run together', async () => {
    const world = await freshNode()
    const { sink, names } = recorder()
    const failing: Sink = {
      name: 'half',
      deliver: async (jobs, delivery) => {
        await sink.deliver(jobs.slice(0, 1), delivery)
        return jobs.slice(1).map(({ id }) => ({ id, error: 'not this one' }))
      },
    }
    await world.stageAll(async (stage) => {
      const first = await stage('a b', 1, { dedupeKey: 'c' })
      expect(await stage('a', 2, { dedupeKey: 'b c' })).not.toBe(first)
    })
    await enqueuer(world, failing).runOnce()
    expect(names()).toEqual(['a b'])
    expect(await jobRows(world)).toMatchObject([{ name: 'a', attempts: 1 }])
  })

  it('of a job that was set aside is free for the next one', async () => {
    const world = await freshNode()
    const bad = functionSink(async () => Promise.reject(new Error('never')))
    await world.stageAll((stage) => stage('mail', 1, { dedupeKey: 'k' }))
    await enqueuer(world, bad, { attemptsMax: 1 }).runOnce()
    await world.stageAll((stage) => stage('mail', 2, { dedupeKey: 'k' }))

    const { sink, taken } = recorder()
    expect(await enqueuer(world, sink).runOnce()).toBe(1)
    expect(taken).toMatchObject([{ args: 2 }])
    expect(await jobRows(world)).toMatchObject([{ name: 'mail', last_error: 'Error: never' }])
  })
})

describe('a job that can not be taken', () => {
  const picky = functionSink(async ({ name }) => {
    if (name.startsWith('bad')) throw new Error(`${name} is not wanted`)
  })

  it('is set aside with its error after its tries, while others pass', async () => {
    const world = await freshNode()
    const worker = enqueuer(world, picky, { attemptsMax: 3 })
    for (let round = 1; round <= 3; round++) {
      if (round === 1) await world.stageAll((stage) => stage('bad', 1))
      await world.stageAll((stage) => stage('good', round))
      await makeDue(world)
      expect(await worker.runOnce()).toBe(1)
      expect(await jobRows(world)).toMatchObject([{ name: 'bad', attempts: round }])
    }
    const [row] = await jobRows(world)
    expect(row).toMatchObject({ last_error: 'Error: bad is not wanted' })
    expect(row?.set_aside_at).not.toBeNull()
    await makeDue(world)
    expect(await worker.runOnce()).toBe(0)
    expect(await jobRows(world)).toMatchObject([{ attempts: 3 }])
  })

  it('waits twice as long after each try, up to the longest pause', async () => {
    const world = await freshNode()
    const worker = enqueuer(world, picky, { retryMs: 10_000, retryMsMax: 25_000 })
    await world.stageAll((stage) => stage('bad', 1))
    for (const pause of [10, 20, 25]) {
      await worker.runOnce()
      const { rows } = await world.pool.query(
        `select extract(epoch from run_at - clock_timestamp()) as left_s from reprise.staged_jobs`,
      )
      expect(Number(rows[0].left_s)).toBeGreaterThan(pause - 5)
      expect(Number(rows[0].left_s)).toBeLessThanOrEqual(pause)
      await makeDue(world)
    }
  })

  it('does not stand in the way, even as one of a whole batch of them', async () => {
    const world = await freshNode()
    await world.stageAll(async (stage) => {
      for (let n = 0; n < 6; n++) await stage(`bad ${n}`, n)
      await stage('good', 1)
    })
    expect(await enqueuer(world, picky, { batchMax: 3 }).runOnce()).toBe(1)
    const rows = await jobRows(world)
    expect(rows.map(({ attempts }) => attempts)).toEqual([1, 1, 1, 1, 1, 1])
  })

  it('is tried again in its turn, however many new ones there are', async () => {
    const world = await freshNode()
    const tried: string[] = []
    const sink = functionSink(async ({ name, attempt }) => {
      tried.push(`${name} ${attempt}`)
      if (name === 'bad' && attempt === 1) throw new Error('not now')
    })
    const worker = enqueuer(world, sink, { batchMax: 2 })
    await world.stageAll((stage) => stage('bad', 1))
    await worker.runOnce()
    await makeDue(world)
    await world.stageAll(async (stage) => {
      for (let n = 0; n < 4; n++) await stage('new', n)
    })
    await worker.runOnce()
    expect(tried).toEqual(['bad 1', 'bad 2', 'new 1', 'new 1', 'new 1', 'new 1'])
  })

  it('is found by a sink that throws at it, and only it is to blame', async () => {
    const world = await freshNode()
    const { sink, names } = recorder()
    const throwing: Sink = {
      name: 'throwing',
      async deliver(jobs, delivery) {
        if (jobs.some(({ name }) => name === 'bad')) throw new Error('a bad one')
        return sink.deliver(jobs, delivery)
      },
    }
    await world.stageAll(async (stage) => {
      for (const name of ['one', 'bad', 'two']) await stage(name, 1)
    })
    expect(await enqueuer(world, throwing).runOnce()).toBe(2)
    expect(names()).toEqual(['one', 'two'])
    expect(await jobRows(world)).toMatchObject([
      { name: 'bad', attempts: 1, last_error: 'Error: a bad one' },
    ])
  })
})

describe('a sink that is down', () => {
  it.each([1, 3])(
    'counts no try of any of %i jobs, and gets them all when it is back',
    async (n) => {
      const world = await freshNode()
      const { sink, taken } = recorder()
      let isDown = true
      const flaky = functionSink(async (job, delivery) => {
        if (isDown) throw new Error('fetch failed', { cause: refusal() })
        await sink.deliver([job], delivery)
      })
      const worker = enqueuer(world, flaky)
      await world.stageAll(async (stage) => {
        for (let job = 0; job < n; job++) await stage('job', job)
      })
      await expect(worker.runOnce()).rejects.toThrow('The sink function is down')
      const rows = await jobRows(world)
      expect(rows).toHaveLength(n)
      for (const row of rows) expect(row).toMatchObject({ attempts: 0, run_at: null })

      isDown = false
      expect(await worker.runOnce()).toBe(n)
      expect(taken.map(({ args }) => args)).toEqual([...Array(n).keys()])
    },
  )

  it.each([1, 2])('is a sink that throws at each of %i jobs', async (n) => {
    const world = await freshNode()
    const down: Sink = { name: 'down', deliver: () => Promise.reject(new Error('gone')) }
    await world.stageAll(async (stage) => {
      for (let job = 0; job < n; job++) await stage('job', job)
    })
    await expect(enqueuer(world, down).runOnce()).rejects.toThrow('The sink down is down.')
    expect(await jobRows(world)).toMatchObject(
      Array.from({ length: n }, () => ({ attempts: 0, run_at: null })),
    )
  })

  it('keeps what it has taken by then, and is not handed that again', async () => {
    const world = await freshNode()
    const names: string[] = []
    const breaking: Sink = {
      name: 'breaking',
      async deliver(jobs) {
        names.push(...jobs.slice(0, 2).map(({ name }) => name))
        return jobs.slice(2).map(({ id }) => ({ id, error: 'broke', isSinkDown: true }))
      },
    }
    await world.stageAll(async (stage) => {
      for (const name of ['a', 'b', 'c', 'd']) await stage(name, 1)
    })
    const events: WorkerEvent[] = []
    const worker = enqueuer(world, breaking, { onEvent: (event) => void events.push(event) })
    await expect(worker.runOnce()).rejects.toThrow('The sink breaking is down. broke')
    expect(await worker.runOnce()).toBe(2)
    expect(names).toEqual(['a', 'b', 'c', 'd'])
    // What it took counts, whatever came after.
    const down = expect.objectContaining({ message: 'The sink breaking is down. broke' })
    expect(events).toMatchObject([{ done: 2, error: down }, { done: 2 }])
    expect(events[1]).not.toHaveProperty('error')
  })

  it('that hangs is given up, at the second job at the latest', async () => {
    const clock = new FakeClock()
    const world = await freshNode({ engine: { clock } })
    let calls = 0
    const hanging: Sink = {
      name: 'hanging',
      deliver: () => {
        calls++
        // Its time, and the same again for stopping.
        setImmediate(() => {
          clock.advance(60_000)
          setImmediate(() => clock.advance(60_000))
        })
        return new Promise(() => {})
      },
    }
    await world.stageAll(async (stage) => {
      for (let job = 0; job < 5; job++) await stage('job', job)
    })
    const worker = enqueuer(world, hanging, { timeoutMs: 60_000 })
    await expect(worker.runOnce()).rejects.toThrow('took more than 60000 ms')
    expect(calls).toBe(3)
    expect(await jobRows(world)).toMatchObject(Array.from({ length: 5 }, () => ({ attempts: 0 })))
  })

  it('that is only slow is told to stop, and says how far it came', async () => {
    const clock = new FakeClock()
    const world = await freshNode({ engine: { clock } })
    const names: string[] = []
    const slow = functionSink(async ({ name }, { signal }) => {
      names.push(name)
      if (name !== 'slow') return
      setImmediate(() => clock.advance(60_000))
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve)
      })
    })
    await world.stageAll(async (stage) => {
      for (const name of ['quick', 'slow', 'next']) await stage(name, 1)
    })
    const worker = enqueuer(world, slow, { timeoutMs: 60_000 })
    await expect(worker.runOnce()).rejects.toThrow('took more than 60000 ms')
    expect(await worker.runOnce()).toBe(1)
    expect(names).toEqual(['quick', 'slow', 'next'])
  })
})

describe('several enqueuers', () => {
  it('never have the same job in hand', async () => {
    const world = await freshNode()
    const nodes = [node(world.database), node(world.database), node(world.database)]
    await world.stageAll(async (stage) => {
      for (let job = 0; job < 300; job++) await stage('job', job)
    })
    const inHand = new Set<string>()
    const seen: string[] = []
    const sink: Sink = {
      name: 'watchful',
      async deliver(jobs) {
        for (const { id } of jobs) {
          expect(inHand.has(id)).toBe(false)
          inHand.add(id)
        }
        await new Promise((resolve) => setImmediate(resolve))
        for (const { id } of jobs) {
          inHand.delete(id)
          seen.push(id)
        }
        return undefined
      },
    }
    const done = await Promise.all(
      nodes.map((one) => enqueuer(one, sink, { batchMax: 10 }).runOnce()),
    )
    expect(done.reduce((sum, count) => sum + count, 0)).toBe(300)
    expect(new Set(seen).size).toBe(300)
    expect(seen).toHaveLength(300)
  })

  it('rest while another has everything that is due', async () => {
    const world = await freshNode()
    const other = node(world.database)
    await world.stageAll((stage) => stage('job', 1))
    const batch = await other.store.work?.jobs.take(
      { limit: 1, silentMsMax: NEVER_MS },
      { retryMs: 1, retryMsMax: 1, attemptsMax: 1 },
    )
    expect(batch?.jobs).toHaveLength(1)
    expect(
      await world.store.work?.jobs.take(
        { limit: 1, silentMsMax: NEVER_MS },
        {
          ...{ retryMs: 1, retryMsMax: 1, attemptsMax: 1 },
        },
      ),
    ).toBeUndefined()
    expect(await world.store.work?.jobs.nextDueMs()).toBeUndefined()
    await batch?.rollback()
    expect(await world.store.work?.jobs.nextDueMs()).toBe(0)
  })

  it('get the jobs of one that has frozen', async () => {
    const world = await freshNode()
    const other = node(world.database)
    await world.stageAll((stage) => stage('job', 1))
    const frozen = await other.store.work?.jobs.take(
      { limit: 1, silentMsMax: 100 },
      { retryMs: 1, retryMsMax: 1, attemptsMax: 1 },
    )
    expect(frozen?.jobs).toHaveLength(1)
    const { sink, taken } = recorder()
    const worker = enqueuer(world, sink)
    await vi.waitUntil(async () => (await worker.runOnce()) === 1, { timeout: 90_000 })
    expect(taken).toHaveLength(1)
    await expect(frozen?.settle([])).rejects.toThrow(/idle-in-transaction|not queryable|terminated/)
  })
})

describe('a commit', () => {
  it('wakes the enqueuer of the same process', async () => {
    const world = await freshNode({ listen: false })
    const { sink, taken } = recorder()
    const worker = enqueuer(world, sink)
    await worker.runOnce()
    worker.start()
    // The first run of the loop comes before it rests; what is staged then must wake it.
    await vi.waitUntil(async () => (await world.store.work?.workers())?.[0] !== undefined)
    for (let n = 1; n <= 3; n++) {
      await world.stageAll((stage) => stage('job', n))
      await vi.waitUntil(() => taken.length === n, { timeout: 90_000 })
    }
    await worker.stop()
  })

  it('in another process wakes it too, also long after it began to watch', async () => {
    const clock = new FakeClock()
    const world = await freshNode({ clock })
    const other = node(world.database)
    const { sink, taken } = recorder()
    const worker = enqueuer(world, sink)
    worker.start()
    const registered = async () => {
      const { rows } = await other.pool.query(
        'select bool_and(until > clock_timestamp()) as watched from reprise.waiters',
      )
      return rows[0].watched === true
    }
    await vi.waitUntil(registered, { timeout: 90_000 })
    await other.stageAll((stage) => stage('job', 1))
    await vi.waitUntil(() => taken.length === 1, { timeout: 90_000 })

    await other.pool.query(`update reprise.waiters set until = now() - interval '1 second'`)
    clock.advance(60_000)
    await vi.waitUntil(registered, { timeout: 90_000 })
    await other.stageAll((stage) => stage('job', 2))
    await vi.waitUntil(() => taken.length === 2, { timeout: 90_000 })
    await worker.stop()
  })
})

describe('an operator', () => {
  it('sees which worker ran where, what it did and what went wrong', async () => {
    const world = await freshNode()
    const { sink } = recorder()
    const workers = createWorkers(world.reprise, { sink, node: 'one' })
    await world.stageAll(async (stage) => {
      await stage('job', 1)
      await stage('job', 2)
    })
    expect(await workers.runOnce()).toEqual({ enqueuer: 2, completer: 0, reaper: 0 })
    const down: Sink = { name: 'down', deliver: () => Promise.reject(new Error('gone')) }
    await world.stageAll((stage) => stage('job', 3))
    const second = createWorkers(world.reprise, { sink: down, node: 'two' })
    await expect(second.enqueuer?.runOnce()).rejects.toThrow('gone')

    const seen = await world.store.work?.workers()
    expect(seen).toMatchObject([
      { worker: 'completer', node: 'one', done: 0, error: null },
      { worker: 'enqueuer', node: 'one', done: 2, error: null },
      { worker: 'enqueuer', node: 'two', done: 0, error: expect.stringContaining('gone') },
      { worker: 'reaper', node: 'one', done: 0, error: null },
    ])
    for (const { agoMs } of seen ?? []) expect(agoMs).toBeLessThan(60_000)
  })
})
