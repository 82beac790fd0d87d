/**
 * What every sink has to do, on the queue it is for.
 *
 * @module
 */

import { describe, expect, it, vi } from 'vitest'
import { createWorkers, type Sink, type Worker } from '../../src/workers/index.ts'
import type { Door } from '../support/door.ts'
import { freshNode, jobRows, type Node } from '../workers/world.ts'

/** A job as it arrived. */
export interface Arrived {
  readonly id: string
  readonly name: string
  readonly args: unknown
}

/** A sink with its queue, for one test. */
export interface SinkWorld {
  readonly sink: Sink<never>
  /** What is in the queue, in the order in which it is to run. */
  arrived(): Promise<readonly Arrived[]>
  /** A name that the queue takes. */
  readonly good: string
  /** A name that it does not. */
  readonly bad: string
  /** What the queue says to the bad name. */
  readonly complaint: RegExp
  /** The way to the queue, where there is one that can be cut. */
  readonly door?: Door
}

/** How a sink is made, and what it promises. */
export interface SinkSpec {
  readonly name: string
  open(world: World): Promise<SinkWorld>
  /** The engine, where it is not the one on pg. */
  adapt?(world: World): World
  /** How often a job is in the queue that was handed over twice. */
  readonly twice: 1 | 2
  readonly skip?: boolean
  /** Whether the queue lives in the database of the store, and is down only with the store itself. */
  readonly inDatabase?: boolean
}

/** The engine that a sink gets its jobs from. */
export type World = Awaited<ReturnType<typeof freshNode>>

/** Longer than anything takes that works. */
const PATIENCE = { timeout: 90_000, interval: 20 }

const JOB_PATIENCE = { retryMs: 1, retryMsMax: 1, attemptsMax: 3 }

/** An enqueuer that runs when told. */
export function enqueuerOf({ reprise }: Pick<Node, 'reprise'>, sink: Sink<never>): Worker {
  const { enqueuer } = createWorkers(reprise, {
    sink,
    enqueuer: { everyMs: 600_000, timeoutMs: 3000, ...JOB_PATIENCE },
  })
  if (enqueuer === undefined) throw new Error('There is no enqueuer.')
  return enqueuer
}

/** Takes a batch and hands it over, up to the moment before the jobs are removed. */
export async function handOver({ store }: Pick<Node, 'store'>, sink: Sink<never>) {
  const batch = await store.work?.jobs.take({ limit: 100, silentMsMax: 60_000 }, JOB_PATIENCE)
  if (batch === undefined) throw new Error('There is no job.')
  const undelivered = await batch.within((tx) => {
    const { signal } = new AbortController()
    return (sink as Sink).deliver(batch.jobs, { tx, within: batch.within, signal })
  })
  return { batch, undelivered: undelivered ?? [] }
}

/** The tests. */
export function describeSink(spec: SinkSpec): void {
  const { name, open, twice, skip = false, adapt, inDatabase = false } = spec
  describe.skipIf(skip)(`the sink ${name}`, () => {
    const start = async () => {
      const fresh = await freshNode()
      const world = adapt?.(fresh) ?? fresh
      const queue = await open(world)
      return { world, ...queue, worker: enqueuerOf(world, queue.sink) }
    }

    it('brings what was committed, with our id, its name and its arguments', async () => {
      const { world, worker, arrived, good } = await start()
      const expected: Arrived[] = []
      await world.stageAll(async (stage) => {
        for (const args of [{ n: 1, text: 'ü "\' \\ €' }, { list: [1, [2]] }, { n: null }]) {
          expected.push({ id: await stage(good, args), name: good, args })
        }
      })
      await world.stageAll((stage) => stage(good, { never: true }), 'rollback')
      expect(await worker.runOnce()).toBe(3)
      await vi.waitFor(async () => expect(await arrived()).toEqual(expected), PATIENCE)
      expect(await jobRows(world)).toEqual([])
    })

    it('brings arguments of any JSON', async () => {
      const { world, worker, arrived, good } = await start()
      const all = [null, true, 0, -1.5, '', 'text', [], [{ a: 1 }], {}]
      await world.stageAll(async (stage) => {
        for (const args of all) await stage(good, args)
      })
      expect(await worker.runOnce()).toBe(all.length)
      await vi.waitFor(async () => {
        expect((await arrived()).map(({ args }) => args)).toEqual(all)
      }, PATIENCE)
    })

    it('brings many in their order', async () => {
      const { world, worker, arrived, good } = await start()
      await world.stageAll(async (stage) => {
        for (let n = 0; n < 150; n++) await stage(good, { n })
      })
      expect(await worker.runOnce()).toBe(150)
      await vi.waitFor(async () => {
        const numbers = (await arrived()).map(({ args }) => (args as { n: number }).n)
        expect(numbers).toEqual([...Array(150).keys()])
      }, PATIENCE)
    })

    it('brings a job whose removal was lost again, under the same id', async () => {
      const { world, worker, sink, arrived, good } = await start()
      let id = ''
      await world.stageAll(async (stage) => {
        id = await stage(good, { n: 1 })
      })
      const { batch, undelivered } = await handOver(world, sink)
      expect(undelivered).toEqual([])
      await batch.rollback()
      expect(await jobRows(world)).toHaveLength(1)

      expect(await worker.runOnce()).toBe(1)
      const expected = Array.from({ length: twice }, () => ({ id, name: good, args: { n: 1 } }))
      await vi.waitFor(async () => expect(await arrived()).toEqual(expected), PATIENCE)
      expect(await jobRows(world)).toEqual([])
    })

    it('sets aside, with its error, what the queue does not take, and passes the others', async () => {
      const { world, worker, arrived, good, bad, complaint } = await start()
      await world.stageAll((stage) => stage(bad, { n: 0 }))
      for (let round = 1; round <= 3; round++) {
        await world.stageAll(async (stage) => {
          await stage(good, { round, place: 1 })
          await stage(good, { round, place: 2 })
        })
        await world.pool.query(
          `update reprise.staged_jobs set run_at = '-infinity' where attempts > 0`,
        )
        expect(await worker.runOnce()).toBe(2)
      }
      expect(await jobRows(world)).toMatchObject([
        { name: bad, attempts: 3, set_aside_at: expect.any(Date) },
      ])
      expect((await jobRows(world))[0]?.last_error).toMatch(complaint)
      await vi.waitFor(async () => expect(await arrived()).toHaveLength(6), PATIENCE)
    })

    it('blames a lone job that the queue does not take', async () => {
      const { world, worker, bad } = await start()
      await world.stageAll((stage) => stage(bad, { n: 0 }))
      expect(await worker.runOnce()).toBe(0)
      expect((await jobRows(world))[0]?.attempts).toBeGreaterThan(0)
    })

    it.skipIf(inDatabase)('loses nothing and blames nobody while the queue is down', async () => {
      const { world, worker, door, sink, arrived, good } = await start()
      if (door === undefined) throw new Error('There is no way to cut.')
      await world.stageAll((stage) => stage(good, { n: 1 }))
      expect(await worker.runOnce()).toBe(1)

      await door.shut()
      await world.stageAll(async (stage) => {
        for (const n of [2, 3, 4]) await stage(good, { n })
      })
      await expect(worker.runOnce()).rejects.toThrow(`The sink ${sink.name} is down`)
      expect(await jobRows(world)).toMatchObject(
        Array.from({ length: 3 }, () => ({ attempts: 0, run_at: null })),
      )

      await door.open()
      await vi.waitFor(() => worker.runOnce(), PATIENCE)
      expect(await jobRows(world)).toEqual([])
      await vi.waitFor(async () => {
        const numbers = (await arrived()).map(({ args }) => (args as { n: number }).n)
        expect([...new Set(numbers)]).toEqual([1, 2, 3, 4])
      }, PATIENCE)
    })
  })
}
