/** What nobody finished is given to the app once, whoever finds it first, and is never lost. */

import { describe, expect, it } from 'vitest'
import { operation, phase, respond, retryLater } from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, request, seen, usePhases } from './phases-world.ts'

const HOUR_MS = 3_600_000

describe('a record that nobody finished', () => {
  const world = usePhases()

  function making(name = 'make', onAbandon: (one: unknown) => unknown = () => {}) {
    const told: unknown[] = []
    const state = { isDown: true }
    const op = operation(
      name,
      {
        ...{ reprise: world.other(), input: anything, retentionMs: HOUR_MS },
        onAbandon: async (one) => {
          told.push(one)
          await onAbandon(one)
        },
      },
      { started: phase(async () => (state.isDown ? retryLater() : respond(201))) },
    )
    return { op, told, state }
  }

  function reaper(op: ReturnType<typeof making>['op'], leaseMs = 60_000) {
    const workers = createWorkers(world.reprise, {
      operations: [op],
      ...{ completer: false, reaper: { leaseMs } },
    })
    return async () => workers.reaper?.runOnce()
  }

  const abandoned = { caller: 'acct', key: 'k', point: 'started', input: { amount: 5 } }

  it('is given to the app also when a request takes its key before the reaper', async () => {
    const { op, told, state } = making()
    await op.run(request('k'))
    await world.age(HOUR_MS + 1)
    state.isDown = false
    expect(seen(await op.run(request('k')))).toEqual(['executed', 201, ''])
    expect(await world.letters()).toMatchObject([{ cause: 'abandoned', error: null }])

    const reap = reaper(op)
    await reap()
    await reap()
    expect(told).toEqual([abandoned])
  })

  it('is given to the app also where it lay before a person already', async () => {
    const { op, told, state } = making()
    await op.run(request('k'))
    await world.age(HOUR_MS + 1)
    await world.pool.query(
      `select reprise.bury_record(r, 'outcome_unknown', null, false) from reprise.records r`,
    )
    state.isDown = false
    await op.run(request('k'))
    await reaper(op)()
    expect(told).toEqual([abandoned])
    expect(await world.letters()).toMatchObject([{ cause: 'outcome_unknown' }])
  })

  it('waits for a worker that knows its operation', async () => {
    const { op, told } = making()
    const { op: other } = making('other')
    await op.run(request('k'))
    await world.age(HOUR_MS + 1)
    expect(await reaper(other)()).toBe(1)
    expect(told).toEqual([])
    expect(await world.letters()).toMatchObject([{ cause: 'abandoned' }])
    await reaper(op)()
    expect(told).toEqual([abandoned])
  })

  it('is not given to the app once a person has settled it', async () => {
    const { op, told, state } = making()
    await op.run(request('k'))
    await world.age(HOUR_MS + 1)
    state.isDown = false
    await op.run(request('k'))
    const [letter] = await world.letters()
    expect(await world.settle(letter, 'give_up', { status: 409, body: 'no' })).toBe(true)
    await reaper(op)()
    expect(told).toEqual([])
  })

  it('is put before a person, and holds up no other, even if the app never answers', async () => {
    const { op } = making('make', () => new Promise(() => {}))
    await op.run(request('k'))
    await op.run(request('l'))
    await world.age(HOUR_MS + 1)
    await op.run(request('l'))
    await reaper(op, 100)()
    const letters = await world.letters()
    expect(letters.map(({ key, error }) => [key, error])).toEqual([
      ['k', 'onAbandon threw Error: It took more than 100 ms.'],
      ['l', 'onAbandon threw Error: It took more than 100 ms.'],
    ])
  })
})
