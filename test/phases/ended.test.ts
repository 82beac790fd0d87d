/** A phase that ends its transaction itself: a bug of the app, which no machine may repeat. */

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
