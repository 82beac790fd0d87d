/** A phase that ends its transaction itself: a bug of the app, which no machine may repeat. */

import type pg from 'pg'
import { describe, expect, it } from 'vitest'
import { advance, operation, phase, respond, retryLater } from '../../src/phases/index.ts'
import { anything, deed, request, seen, usePhases } from './phases-world.ts'

describe('a phase that ends its transaction itself', () => {
  const world = usePhases()
  const created = { status: 201, headers: [], body: new Uint8Array() }

  const steps = {
    advance: () => advance('second'),
    respond: () => respond(201),
    'retry later': () => retryLater(),
    throw: () => {
      throw new Error('no luck')
    },
  }

  it.each([
    ['commits', 'commit', 'advance', ['kept']],
    ['commits', 'commit', 'respond', ['kept']],
    ['commits', 'commit', 'retry later', ['kept']],
    ['commits', 'commit', 'throw', ['kept']],
    ['rolls back', 'rollback', 'advance', []],
    ['rolls back', 'rollback', 'respond', []],
    ['commits and begins again', 'commit; begin', 'advance', ['kept']],
    ['commits and begins again', 'commit; begin', 'throw', ['kept']],
  ] as const)('%s is told so, and a person must look (%s, %s)', async (_, text, step, kept) => {
    let runs = 0
    const op = operation(
      'end',
      { reprise: world.other(), input: anything },
      {
        started: phase(async ({ tx }) => {
          runs++
          await deed(tx, 'kept')
          await tx.query(text)
          if (text.endsWith('begin')) await deed(tx, 'undone')
          return steps[step]()
        }),
        second: phase(async () => respond(201)),
      },
    )
    await expect(op.run(request('k'))).rejects.toThrow(
      'The phase started has ended the transaction itself: leave that to Reprise.',
    )
    expect(await world.deeds()).toEqual(kept)
    expect(await world.letters()).toMatchObject([
      { cause: 'outcome_unknown', point: 'started', error: expect.stringContaining('started has') },
    ])
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(runs).toBe(1)
  })

  const conflict = () => Object.assign(new Error('could not serialize access'), { code: '40001' })

  it.each([
    [
      'begins again, and a statement fails there',
      async (tx: pg.PoolClient) => {
        await tx.query('begin')
        await tx.query('select 1 / 0')
      },
    ],
    [
      'begins again, a statement fails there, and it goes on as if nothing were',
      async (tx: pg.PoolClient) => {
        await tx.query('begin')
        await tx.query('select 1 / 0').catch(() => {})
      },
    ],
    [
      'a statement without a transaction meets a deadlock',
      async (tx: pg.PoolClient) => {
        await tx.query(`do $$ begin raise 'deadlock detected' using errcode = '40P01'; end $$`)
      },
    ],
    [
      'a statement without a transaction can not be serialized',
      async () => {
        throw conflict()
      },
    ],
    [
      'another connection is lost',
      async () => {
        throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
      },
    ],
    [
      'its own connection is lost',
      async (tx: pg.PoolClient) => {
        await tx.query('select pg_terminate_backend(pg_backend_pid())')
      },
    ],
    ['it takes too long', (_: pg.PoolClient, looked: Promise<void>) => looked],
  ] as const)('commits, then %s: that is not run again', async (_, then) => {
    let runs = 0
    let look = () => {}
    const looked = new Promise<void>((resolve) => {
      look = resolve
    })
    const op = operation(
      'end',
      { reprise: world.other(), input: anything },
      {
        started: phase(
          async ({ tx }) => {
            runs++
            await deed(tx, 'kept')
            await tx.query('commit')
            await then(tx, looked)
            return respond(201)
          },
          { timeoutMs: 3000 },
        ),
      },
    )
    await expect(op.run(request('k')).finally(look)).rejects.toThrow('The phase started has ended')
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(runs).toBe(1)
    expect(await world.deeds()).toEqual(['kept'])
    expect(await world.letters()).toMatchObject([{ cause: 'outcome_unknown', point: 'started' }])
  })

  it.each([
    ['throws', new Error('no luck')],
    ['meets a conflict', conflict()],
  ] as const)('%s when nobody can be asked: nothing is claimed', async (_, error) => {
    let runs = 0
    const { pool } = world
    const taken: Promise<pg.PoolClient>[] = []
    const op = operation(
      'end',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => {
          runs++
          // Every connection, the phase's own included as soon as it is given back. To connect may
          // take long, so the limit is set when only those that wait their turn are left.
          const isMore = () => taken.length < pool.options.max
          while (isMore() && pool.totalCount - pool.idleCount < pool.options.max) {
            taken.push(pool.connect())
            await taken.at(-1)
          }
          while (isMore()) taken.push(pool.connect())
          pool.options.connectionTimeoutMillis = 50
          throw error
        }),
      },
    )
    try {
      expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    } finally {
      pool.options.connectionTimeoutMillis = 0
      await Promise.all(taken.map(async (connection) => (await connection).release()))
    }
    expect(runs).toBe(1)
    expect(world.events.map(({ type }) => type)).not.toContain('transaction_retry')
    expect(await world.letters()).toEqual([])
  })

  it('rolls back and throws: nothing was done, and it is tried again', async () => {
    let runs = 0
    const op = operation(
      'end',
      { reprise: world.other(), input: anything },
      {
        started: phase(async ({ tx }) => {
          await deed(tx, `run ${++runs}`)
          if (runs > 1) return respond(201)
          await tx.query('rollback')
          throw new Error('no luck')
        }),
      },
    )
    await expect(op.run(request('k'))).rejects.toThrow('no luck')
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, ''])
    expect(await world.deeds()).toEqual(['run 2'])
    expect(await world.letters()).toEqual([])
  })

  it('stages nothing after that', async () => {
    const op = operation(
      'end',
      { reprise: world.other(), input: anything },
      {
        started: phase(async ({ tx, stage }) => {
          await tx.query('commit')
          await stage('mail', {})
          return respond(201)
        }),
      },
    )
    await expect(op.run(request('k'))).rejects.toThrow('The phase started has ended')
    expect(await world.work.jobs.nextDueMs()).toBeUndefined()
    expect(await world.letters()).toHaveLength(1)
  })

  it('is told so in transaction mode too, where nothing is staged either', async () => {
    const asked = { caller: 'acct', operation: 'POST /', key: 'k', fingerprints: ['f'] }
    const running = world.other().runInTransaction(asked, async ({ tx, stage }) => {
      await tx.query('commit')
      await stage('mail', {})
      return created
    })
    await expect(running).rejects.toThrow('has ended the transaction itself')
    expect(await world.work.jobs.nextDueMs()).toBeUndefined()
    expect((await world.store.list({ limit: 1 })).records).toEqual([])
  })
})
