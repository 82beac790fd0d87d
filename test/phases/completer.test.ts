import { describe, expect, it } from 'vitest'
import { createReprise } from '../../src/index.ts'
import {
  advance,
  type CompleterOptions,
  operation,
  phase,
  respond,
  retryLater,
} from '../../src/phases/index.ts'
import { createWorkers, type WorkerEvent } from '../../src/workers/index.ts'
import { anything, deed, request, seen, usePhases } from './phases-world.ts'

const HOUR_MS = 3_600_000

describe('the completer', () => {
  const world = usePhases()

  function making(completer: CompleterOptions) {
    const state = { isDown: true, runs: 0, hold: Promise.resolve() }
    const op = operation(
      'make',
      { reprise: world.other(), input: anything, completer },
      {
        started: phase(async ({ tx, caller, input, ip }) => {
          await deed(tx, `${caller} ${JSON.stringify(input)} ${ip}`)
          return advance('second')
        }),
        second: phase(async () => {
          state.runs++
          // Only the first one waits: a second run beside it would be seen.
          if (state.runs === 1) await state.hold
          return state.isDown ? retryLater({ reason: `try ${state.runs}` }) : respond(201, 'made')
        }),
      },
    )
    const events: WorkerEvent[] = []
    const onEvent = (event: WorkerEvent) => void events.push(event)
    const workers = createWorkers(world.reprise, { operations: [op], onEvent })
    const completeOnce = async () => workers.completer?.runOnce()
    return { op, state, completeOnce, events }
  }

  it('leaves the client its time, then goes on from the stored input for the stored caller', async () => {
    const { op, state, completeOnce, events } = making({ graceMs: 60_000, retryMs: 0 })
    await op.run({ ...request('k'), origin: { ip: '203.0.113.7' } })
    state.isDown = false
    expect(await completeOnce()).toBe(0)
    await world.age(60_001)
    expect(await completeOnce()).toBe(1)
    expect(await completeOnce()).toBe(0)
    expect(await world.deeds()).toEqual(['acct {"amount":5} 203.0.113.7'])
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'made'])
    expect(events.flatMap(({ record }) => record ?? [])).toMatchObject([
      { operation: 'make', ending: 'resumed' },
    ])
    const { records } = await world.store.list({ limit: 1 })
    const history = await world.work.history(records[0]?.record.id ?? '')
    expect(history.map(({ actor, ending }) => [actor, ending])).toEqual([
      ['request', 'advanced'],
      ['request', 'retry_later'],
      ['completer', 'responded'],
    ])
  })

  it('keeps no answer in a replay cache, which only requests are served from', async () => {
    const reprise = createReprise({ store: world.store })
    const state = { isDown: true }
    const op = operation(
      'make',
      { reprise, input: anything, completer: { graceMs: 0, retryMs: 0 } },
      { started: phase(async () => (state.isDown ? retryLater() : respond(201, 'made'))) },
    )
    await op.run(request('k'))
    state.isDown = false
    await createWorkers(reprise, { operations: [op] }).completer?.runOnce()
    // What was kept would be given although the record is gone.
    await world.pool.query('delete from reprise.records')
    expect(seen(await op.run(request('k')))).toEqual(['executed', 201, 'made'])
  })

  it('leaves alone what is being worked on, and takes it when its lease is over', async () => {
    const { op, completeOnce, state } = making({ graceMs: 0, retryMs: 0 })
    let letGo = () => {}
    state.hold = new Promise<void>((resolve) => {
      letGo = resolve
    })
    state.isDown = false
    const running = op.run(request('k'))
    await expect.poll(() => state.runs).toBe(1)
    const taken = await completeOnce()
    letGo()
    const outcome = seen(await running)
    expect([taken, state.runs, outcome]).toEqual([0, 1, ['executed', 201, 'made']])

    // Left by a process of which nobody knows whether it lives, until its lease is over.
    state.isDown = true
    await op.run(request('l'))
    const lease = (until: string) =>
      world.pool.query(
        `update reprise.records set lease_until = clock_timestamp() + $1::interval where key = 'l'`,
        [until],
      )
    state.isDown = false
    await lease('1 minute')
    expect([await completeOnce(), state.runs]).toEqual([0, 2])
    await lease('-1 second')
    expect([await completeOnce(), state.runs]).toEqual([1, 3])
    expect(seen(await op.run(request('l')))).toEqual(['replayed', 201, 'made'])
  })

  it('waits twice as long after each try, up to a bound, then puts it before a person', async () => {
    const patience = { graceMs: 0, retryMs: 60_000, retryMsMax: 480_000, triesMax: 4 }
    const { op, completeOnce, state } = making(patience)
    await op.run(request('k'))
    for (const pauseMs of [60_000, 120_000, 240_000, 480_000]) {
      await world.age(pauseMs - 30_000)
      expect(await completeOnce(), `before ${pauseMs}`).toBe(0)
      await world.age(31_000)
      expect(await completeOnce(), `after ${pauseMs}`).toBe(1)
    }
    expect(state.runs).toBe(5)
    expect(await world.letters()).toEqual([])

    await world.age(450_000)
    expect(await completeOnce()).toBe(0)
    await world.age(31_000)
    expect(await completeOnce()).toBe(1)
    expect(state.runs).toBe(5)
    expect(await world.letters()).toMatchObject([
      { cause: 'attempts_exhausted', error: 'try 5', tries: 5, point: 'second' },
    ])
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])

    const [letter] = await world.letters()
    expect(letter?.history.map(({ ending }) => ending)).toEqual([
      'advanced',
      ...Array.from({ length: 5 }, () => 'retry_later'),
    ])
    // Whoever mends the bug has as many tries again.
    state.isDown = false
    await world.settle(letter, 'resume')
    expect(await completeOnce()).toBe(1)
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'made'])
  })

  it('notes what a phase throws, and goes on with the others', async () => {
    const completer = { graceMs: 0, retryMs: 60_000 }
    const op = operation(
      'make',
      { reprise: world.other(), input: anything, completer },
      {
        started: phase(async ({ key }) => {
          if (key === 'bad') throw new Error('a bug')
          return respond(201)
        }),
      },
    )
    await expect(op.run(request('bad'))).rejects.toThrow('a bug')
    await world.age(60_001)
    const errors: unknown[] = []
    const onEvent = ({ error }: WorkerEvent) => void (error === undefined || errors.push(error))
    const workers = createWorkers(world.reprise, { operations: [op], onEvent })
    expect(await workers.completer?.runOnce()).toBe(1)
    expect(errors).toEqual([new Error('a bug')])
  })
})

describe('the reaper', () => {
  const world = usePhases()

  function making({ onAbandon }: { onAbandon?: (abandoned: unknown) => void } = {}) {
    let isDown = true
    const given = { reprise: world.other(), input: anything, retentionMs: HOUR_MS }
    const op = operation(
      'make',
      { ...given, ...(onAbandon && { onAbandon }) },
      {
        started: phase(async () => (isDown ? retryLater({ reason: 'down' }) : respond(201))),
      },
    )
    const workers = createWorkers(world.reprise, { operations: [op] })
    const mend = () => {
      isDown = false
    }
    return { op, mend, reapOnce: async () => workers.reaper?.runOnce(), workers }
  }

  it('deletes what was finished, with its history, after its retention and not before', async () => {
    const { op, mend, reapOnce } = making()
    await op.run(request('k'))
    mend()
    await op.run(request('k'))
    await world.age(HOUR_MS - 10_000)
    expect(await reapOnce()).toBe(0)
    await world.age(20_000)
    expect(await reapOnce()).toBe(1)
    const left =
      'select (select count(*) from reprise.records) + (select count(*) from reprise.attempts) as n'
    expect((await world.pool.query(left)).rows).toEqual([{ n: '0' }])
    expect(await world.letters()).toEqual([])
  })

  it('tells the app of what nobody finished, then puts it before a person', async () => {
    const told: unknown[] = []
    const { op, mend, reapOnce, workers } = making({ onAbandon: (one) => void told.push(one) })
    await op.run(request('k'))
    await world.age(HOUR_MS + 10_000)
    expect(await workers.completer?.runOnce()).toBe(0)
    expect(await reapOnce()).toBe(1)
    expect(await reapOnce()).toBe(0)
    expect(told).toEqual([{ caller: 'acct', key: 'k', point: 'started', input: { amount: 5 } }])
    const letters = await world.letters()
    expect(letters).toMatchObject([
      { cause: 'abandoned', point: 'started', error: null, history: [{ ending: 'retry_later' }] },
    ])
    // The key is free, and the letter can still be taken up.
    mend()
    await world.settle(letters[0], 'resume')
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, ''])
  })

  it('puts it before a person even if the app throws', async () => {
    const { op, reapOnce } = making({
      onAbandon: () => {
        throw new Error('not now')
      },
    })
    await op.run(request('k'))
    await world.age(HOUR_MS + 10_000)
    expect(await reapOnce()).toBe(1)
    expect(await world.letters()).toMatchObject([
      { cause: 'abandoned', error: 'onAbandon threw Error: not now' },
    ])
  })

  it('does not put before a person again what is there already', async () => {
    const completer = { graceMs: 0, retryMs: 0, triesMax: 1 }
    const given = { reprise: world.other(), input: anything, completer }
    const op = operation('make', given, { started: phase(async () => retryLater()) })
    const workers = createWorkers(world.reprise, { operations: [op] })
    await op.run(request('k'))
    await workers.completer?.runOnce()
    expect(await world.letters()).toMatchObject([{ cause: 'attempts_exhausted' }])
    await world.age(40 * 24 * HOUR_MS)
    await workers.reaper?.runOnce()
    expect(await world.letters()).toHaveLength(1)
  })
})

describe('the workers', () => {
  const world = usePhases()

  it('are forgotten when they have not run for long', async () => {
    for (const [node, ago] of [
      ['gone', '31 days'],
      ['quiet', '29 days'],
    ]) {
      await world.work.beat({ worker: 'reaper', node: `${node}`, tookMs: 1, done: 0, error: null })
      await world.pool.query(
        `update reprise.workers set ran_at = ran_at - $2::interval where node = $1`,
        [node, ago],
      )
    }
    await createWorkers(world.reprise, { node: 'n1' }).reaper?.runOnce()
    expect((await world.work.workers()).map(({ node }) => node)).toEqual(['n1', 'quiet'])
  })

  it('take no two operations of one name: a record could go to either', () => {
    const given = { reprise: world.reprise, input: anything }
    const make = () => operation('make', given, { started: phase(async () => respond(201)) })
    expect(() => createWorkers(world.reprise, { operations: [make(), make()] })).toThrow(
      'two operations are named make',
    )
  })

  it('start and stop any number of times, and leave a sign of life', async () => {
    const op = operation(
      'make',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => respond(201)),
      },
    )
    const workers = createWorkers(world.reprise, { operations: [op], node: 'n1' })
    expect(workers.enqueuer).toBeUndefined()
    workers.start()
    workers.start()
    expect([workers.completer?.isRunning, workers.reaper?.isRunning]).toEqual([true, true])
    await Promise.all([workers.stop(), workers.stop()])
    expect([workers.completer?.isRunning, workers.reaper?.isRunning]).toEqual([false, false])
    await workers.stop()
    expect(await workers.runOnce()).toEqual({ enqueuer: 0, completer: 0, reaper: 0 })
    const seenWorkers = await world.work.workers()
    expect(seenWorkers.map(({ worker, node, error }) => [worker, node, error])).toEqual([
      ['completer', 'n1', null],
      ['reaper', 'n1', null],
    ])
  })
})
