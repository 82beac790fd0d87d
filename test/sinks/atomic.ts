/**
 * What sinks promise besides that deliver in the transaction which removes the jobs.
 *
 * @module
 */

import { describe, expect, it } from 'vitest'
import { freshNode, jobRows } from '../workers/world.ts'
import { enqueuerOf, handOver, type SinkSpec } from './contract.ts'

/** The tests. */
export function describeAtomic({ name, open, adapt }: SinkSpec): void {
  describe(`the sink ${name}, in one transaction`, () => {
    const start = async () => {
      const fresh = await freshNode()
      const world = adapt?.(fresh) ?? fresh
      return { world, ...(await open(world)) }
    }

    it('has handed over nothing until the removal commits, and then exactly once', async () => {
      const { world, sink, arrived, good } = await start()
      await world.stageAll((stage) => stage(good, { n: 1 }))
      const { batch } = await handOver(world, sink)
      expect(await arrived()).toEqual([])
      await batch.settle([])
      expect(await arrived()).toHaveLength(1)
      expect(await jobRows(world)).toEqual([])
    })

    it('has handed over nothing when the connection dies before the commit', async () => {
      const { world, sink, arrived, good } = await start()
      await world.stageAll((stage) => stage(good, { n: 1 }))
      const { batch } = await handOver(world, sink)
      const { rowCount } = await world.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and state = 'idle in transaction'`,
      )
      expect(rowCount).toBe(1)
      await expect(batch.settle([])).rejects.toThrow(/terminat|CONN/i)
      await batch.rollback()
      expect(await arrived()).toEqual([])
      expect(await jobRows(world)).toMatchObject([{ attempts: 0 }])

      expect(await enqueuerOf(world, sink).runOnce()).toBe(1)
      expect(await arrived()).toHaveLength(1)
    })
  })
}
