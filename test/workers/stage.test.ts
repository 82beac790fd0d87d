import { PGlite } from '@electric-sql/pglite'
import libsql from 'libsql'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createReprise } from '../../src/engine/reprise.ts'
import { functionSink } from '../../src/sinks/function.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { freshNode, jobRows, stageAllOn } from './world.ts'

const request = { caller: 'acct', operation: 'POST /', key: 'k', fingerprints: ['f'] }
const created = { status: 201, headers: [], body: new Uint8Array() }

describe('staging in transaction mode', () => {
  it('commits with the answer, and a replay stages nothing more', async () => {
    const world = await freshNode()
    for (const outcome of ['executed', 'replayed']) {
      const result = await world.reprise.runInTransaction(request, async ({ stage }) => {
        await stage('mail', { to: 'a' })
        return created
      })
      expect(result.outcome).toBe(outcome)
      expect(await jobRows(world)).toMatchObject([{ name: 'mail', attempts: 0 }])
    }
  })

  it.each([
    ['throws', () => Promise.reject(new Error('no'))],
    ['releases', async (run: { release(): void }) => run.release()],
  ])('leaves nothing when the handler %s', async (_, end) => {
    const world = await freshNode()
    const running = world.reprise.runInTransaction(request, async (run) => {
      await run.stage('mail', {})
      await end(run)
      return created
    })
    await running.catch(() => {})
    expect(await jobRows(world)).toEqual([])
  })

  it('is part of a transaction that was joined', async () => {
    const world = await freshNode()
    for (const [end, count] of [
      ['rollback', 0],
      ['commit', 1],
    ] as const) {
      const tx = await world.pool.connect()
      await tx.query('begin')
      const work = { ...request, key: end }
      await world.reprise.runInTransaction(
        work,
        async ({ stage }) => {
          await stage('mail', {})
          return created
        },
        { join: tx },
      )
      expect(await jobRows(world)).toHaveLength(0)
      await tx.query(end)
      tx.release()
      expect(await jobRows(world)).toHaveLength(count)
    }
  })

  it('is over with the transaction', async () => {
    const world = await freshNode()
    let late: ((name: string, args: unknown) => Promise<string>) | undefined
    await world.reprise.runInTransaction(request, async ({ stage }) => {
      late = stage
      return created
    })
    await expect(late?.('mail', {})).rejects.toThrow('The transaction is over.')
    expect(await jobRows(world)).toEqual([])
  })

  it('takes only what JSON has a form of, under a name, and valid dates', async () => {
    const world = await freshNode()
    await world.stageAll(async (stage) => {
      await expect(stage('mail', () => {})).rejects.toThrow(TypeError)
      await expect(stage('', {})).rejects.toThrow(TypeError)
      await expect(stage('mail', {}, { runAt: new Date('never') })).rejects.toThrow(TypeError)
      // A program in JavaScript may give a number.
      const runAt = 1_700_000_000_000 as unknown as Date
      await expect(stage('mail', {}, { runAt })).rejects.toThrow('a valid Date, not 1700000000000')
    })
    expect(await jobRows(world)).toEqual([])
  })

  it('works on PGlite, up to the sink', { timeout: 180_000 }, async () => {
    const db = new PGlite()
    const reprise = createReprise({ store: postgresStore(db) })
    onTestFinished(async () => {
      await reprise.close()
      await db.close()
    })
    const names: string[] = []
    const sink = functionSink(
      async ({ name }) => {
        if (name === 'bad') throw new Error('not wanted')
        names.push(name)
      },
      { usesTx: true },
    )
    await stageAllOn(reprise)(async (stage) => {
      for (const name of ['one', 'bad', 'two']) await stage(name, {})
    })
    const { enqueuer } = createWorkers(reprise, { sink })
    expect(await enqueuer?.runOnce()).toBe(2)
    expect(names).toEqual(['one', 'two'])
    const { rows } = await db.query('select name, last_error from reprise.staged_jobs')
    expect(rows).toEqual([{ name: 'bad', last_error: 'Error: not wanted' }])
  })

  it('is refused, with nothing done, where the store keeps no jobs', async () => {
    const database = new libsql(':memory:')
    const reprise = createReprise({ store: sqliteStore(database) })
    onTestFinished(() => reprise.close())
    const running = reprise.runInTransaction(request, async ({ stage }) => {
      await stage('mail', {})
      return created
    })
    await expect(running).rejects.toMatchObject({ code: 'reprise-jobs-unsupported' })
  })
})
