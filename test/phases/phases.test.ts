import { randomBytes } from 'node:crypto'
import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { aesGcm, createReprise, memoryStore } from '../../src/index.ts'
import {
  advance,
  foreignCall,
  type Migrate,
  operation,
  phase,
  respond,
  retryLater,
  type Stage,
} from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, deed, httpError, request, seen, usePhases } from './phases-world.ts'

describe('a phase', () => {
  const world = usePhases()

  it('that throws leaves nothing behind, and is run again', async () => {
    let isBroken = true
    const op = operation(
      'mend',
      { reprise: world.reprise, input: anything },
      {
        started: phase(async ({ tx }) => {
          await deed(tx, 'first')
          return advance('second', { n: 1 })
        }),
        second: phase(async ({ tx, stage }, { n }: { n: number }) => {
          await deed(tx, `second ${n}`)
          await stage('mail', { n })
          if (isBroken) throw new RangeError('a bad deploy')
          return respond(200)
        }),
      },
    )
    await expect(op.run(request('k'))).rejects.toThrow(new RangeError('a bad deploy'))
    expect(await world.deeds()).toEqual(['first'])
    expect(await world.work.jobs.nextDueMs()).toBeUndefined()
    const { records } = await world.store.list({ limit: 1 })
    expect(records[0]).toMatchObject({ status: 'suspended', record: { recoveryPoint: 'second' } })
    const history = await world.work.history(records[0]?.record.id ?? '')
    expect(history.map(({ point, ending, error }) => [point, ending, error])).toEqual([
      ['started', 'advanced', null],
      ['second', 'threw', 'RangeError: a bad deploy'],
    ])

    isBroken = false
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 200, ''])
    expect(await world.deeds()).toEqual(['first', 'second 1'])
    expect(await world.work.jobs.nextDueMs()).toBe(0)
  })

  it('that asks for more time leaves nothing behind', async () => {
    const op = operation(
      'wait',
      { reprise: world.reprise, input: anything },
      {
        started: phase(async ({ tx }) => {
          await deed(tx, 'begun')
          return retryLater({ afterMs: 123, reason: 'the night' })
        }),
      },
    )
    expect(await op.run(request('k'))).toEqual({ outcome: 'postponed', retryAfterMs: 123 })
    expect(await world.deeds()).toEqual([])
  })

  it('is given input and state as whoever resumes it would be', async () => {
    const states: unknown[] = []
    const op = operation(
      'same',
      { reprise: world.reprise, input: anything },
      {
        started: phase(async ({ input }) => advance('second', { input, at: new Date(0) })),
        second: phase(async (_, state: { input: unknown; at: Date | string }) => {
          states.push(state)
          return states.length === 1 ? retryLater() : respond(200)
        }),
      },
    )
    await op.run(request('k'))
    await op.run(request('k'))
    const state = { input: { amount: 5 }, at: '1970-01-01T00:00:00.000Z' }
    expect(states).toEqual([state, state])
  })

  /** Two runs that read the same before either writes. */
  function counting(transactionAttemptsMax: number) {
    let arrived = 0
    let open: () => void = () => {}
    const both = new Promise<void>((resolve) => {
      open = resolve
    })
    const runs: string[] = []
    const options = { reprise: world.reprise, input: anything, transactionAttemptsMax }
    const op = operation('count', options, {
      started: phase(async ({ tx, key }) => {
        runs.push(key)
        const { rows } = await tx.query('select count(*)::integer as n from deeds')
        if (++arrived === 2) open()
        await both
        await deed(tx, `deed ${rows[0].n + 1}`)
        return respond(200)
      }),
    })
    return { op, runs }
  }

  it('that meets another is run again: each sees what the other did', async () => {
    const { op, runs } = counting(10)
    const results = await Promise.all([op.run(request('a')), op.run(request('b'))])
    expect(results.map(({ outcome }) => outcome)).toEqual(['executed', 'executed'])
    expect(await world.deeds()).toEqual(['deed 1', 'deed 2'])
    expect(runs.length).toBeGreaterThan(2)
    expect(world.events.map(({ type }) => type)).toContain('transaction_retry')
  })

  it('that meets others too often is postponed, not failed', async () => {
    const { op } = counting(1)
    const results = await Promise.all([op.run(request('a')), op.run(request('b'))])
    expect(results.map(({ outcome }) => outcome).sort()).toEqual(['executed', 'postponed'])
    expect(await world.deeds()).toEqual(['deed 1'])
    const keys = ['a', 'b']
    const again = await Promise.all(keys.map((key) => op.run(request(key))))
    expect(again.map(({ outcome }) => outcome).sort()).toEqual(['replayed', 'resumed'])
    expect(await world.deeds()).toEqual(['deed 1', 'deed 2'])
  })

  it('may say its isolation', async () => {
    const levels: unknown[] = []
    const look = async (tx: PoolClient) => {
      levels.push((await tx.query('show transaction_isolation')).rows[0].transaction_isolation)
    }
    const op = operation(
      'levels',
      { reprise: world.reprise, input: anything },
      {
        started: phase(
          async ({ tx }) => {
            await look(tx)
            return advance('second')
          },
          { isolation: 'read committed' },
        ),
        second: phase(async ({ tx }) => {
          await look(tx)
          return respond(200)
        }),
      },
    )
    await op.run(request('k'))
    expect(levels).toEqual(['read committed', 'serializable'])
  })

  it('that leads nowhere is a failure of its own', async () => {
    const op = operation(
      'lost',
      { reprise: world.reprise, input: anything },
      {
        // What the compiler refuses may still come from somebody without one.
        started: phase(async () => advance('nowhere' as string)),
      },
    )
    await expect(op.run(request('k'))).rejects.toThrow('There is no phase nowhere.')
  })
})

/** A place to stop at until it is opened; later visits go through. */
function gate() {
  let reach: () => void = () => {}
  let open: () => void = () => {}
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  let visits = 0
  const pass = async () => {
    if (++visits > 1) return
    reach()
    await opened
  }
  return { reached, open, pass }
}

describe('a run whose record was taken over in the middle of a phase', () => {
  const world = usePhases()
  const isolations = ['read committed', 'repeatable read', 'serializable'] as const
  const points = ['started', 'done', 'failed', 'final'] as const

  it.each(isolations.flatMap((isolation) => points.map((point) => [point, isolation] as const)))(
    'can not commit, stage or finish: %s, %s',
    async (point, isolation) => {
      const { reached, open, pass } = gate()
      const work = async (here: string, { tx, stage }: { tx: PoolClient; stage: Stage }) => {
        await deed(tx, here)
        await stage('tell', { here })
        if (here === point) await pass()
      }
      const make = () =>
        operation(
          'pay',
          { reprise: world.other(), input: anything, isolation },
          {
            started: phase(async (context) => {
              await work('started', context)
              return advance('called')
            }),
            called: foreignCall({
              call: async () => {
                if (point === 'failed') throw httpError(402)
                return 'ch_1'
              },
              done: async (context) => {
                await work('done', context)
                return advance('final')
              },
              failed: async (_error: unknown, _state: undefined, context) => {
                await work('failed', context)
                return advance('final')
              },
            }),
            final: phase(async (context) => {
              await work('final', context)
              return respond(201, `by fence ${context.fence}`)
            }),
          },
        )
      const zombie = make().run(request('k'))
      await reached
      await world.lapse()
      expect(seen(await make().run(request('k')))).toEqual(['resumed', 201, 'by fence 2'])
      open()
      expect(seen(await zombie)).toEqual(['replayed', 201, 'by fence 2'])
      const once = ['started', point === 'failed' ? 'failed' : 'done', 'final']
      expect((await world.deeds()).toSorted()).toEqual(once.toSorted())
      const staged = await world.pool.query('select from reprise.staged_jobs')
      expect(staged.rowCount).toBe(3)
    },
  )
})

describe('a deploy between two phases', () => {
  const world = usePhases()
  type State = { readonly amount: number }

  /** The operation as it was, stopped in the middle. */
  async function before() {
    const op = operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => advance('middle', { amount: 5 })),
        middle: phase(async (_, _state: State) => retryLater()),
      },
    )
    expect((await op.run(request('k'))).outcome).toBe('postponed')
  }

  function after(options: { version?: number; migrate?: Migrate } = {}) {
    const completer = { graceMs: 0, retryMs: 0 }
    // Nobody else has another version.
    const alone = { otherVersionMs: 0, completer }
    const given = { reprise: world.other(), input: anything, ...alone, ...options }
    return operation('pay', given, {
      started: phase(async () => advance('final', { cents: 1 })),
      final: phase(async ({ tx }, { cents }: { cents: number }) => {
        await deed(tx, `paid ${cents}`)
        return respond(201)
      }),
    })
  }

  it('that removed the point: a dead letter, and no crash loop', async () => {
    await before()
    const op = after()
    const { completer } = createWorkers(world.reprise, { operations: [op] })
    expect(await completer?.runOnce()).toBe(1)
    expect(await completer?.runOnce()).toBe(0)
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    const letters = await world.letters()
    expect(letters).toMatchObject([{ cause: 'graph_changed', point: 'middle' }])
    expect(await world.deeds()).toEqual([])
  })

  it('that is undone: what was put before a person goes on where it stood', async () => {
    await before()
    await after().run(request('k'))
    const [letter] = await world.letters()
    await world.settle(letter, 'resume')
    const op = operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => advance('middle', { amount: 9 })),
        middle: phase(async (_, { amount }: State) => respond(200, `${amount}`)),
      },
    )
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 200, '5'])
  })

  it('that raised the version, with nobody to migrate: a dead letter', async () => {
    await before()
    const op = operation(
      'pay',
      { reprise: world.other(), input: anything, version: 2, otherVersionMs: 0 },
      {
        started: phase(async () => advance('middle', { amount: 5 })),
        middle: phase(async (_, _state: State) => respond(200)),
      },
    )
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(await world.letters()).toMatchObject([{ cause: 'graph_changed', point: 'middle' }])
  })

  it('that migrates goes on at the new point', async () => {
    await before()
    const given: unknown[] = []
    const op = after({
      version: 2,
      migrate: (stored) => {
        given.push(stored)
        return { point: 'final', state: { cents: (stored.state as State).amount * 100 } }
      },
    })
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, ''])
    expect(given).toEqual([
      {
        ...{ version: 1, graphChanged: true, point: 'middle' },
        ...{ state: { amount: 5 }, input: { amount: 5 }, call: null },
      },
    ])
    expect(await world.deeds()).toEqual(['paid 500'])
  })

  it('that only added a phase goes on, and its migration is asked if there is one', async () => {
    const changed: boolean[] = []
    const grown = (migrate?: Migrate) =>
      operation(
        'pay',
        { reprise: world.other(), input: anything, ...(migrate === undefined ? {} : { migrate }) },
        {
          started: phase(async () => advance('middle', { amount: 5 })),
          middle: phase(async (_, { amount }: State) => advance('added', { amount })),
          added: phase(async (_, { amount }: State) => respond(200, `${amount}`)),
        },
      )
    await before()
    expect(seen(await grown().run(request('k')))).toEqual(['resumed', 200, '5'])

    await world.pool.query('truncate reprise.records')
    await before()
    const asked = grown(({ graphChanged, point }) => {
      changed.push(graphChanged)
      return { point, state: { amount: 7 } }
    })
    expect(seen(await asked.run(request('k')))).toEqual(['resumed', 200, '7'])
    expect(changed).toEqual([true])
  })

  it('whose migration says no, or leads nowhere: a dead letter', async () => {
    for (const migrate of [() => null, () => ({ point: 'nowhere' })]) {
      await world.pool.query('truncate reprise.records, reprise.dead_letters')
      await before()
      expect(seen(await after({ version: 2, migrate }).run(request('k')))).toEqual(['unknown'])
      expect(await world.letters()).toMatchObject([{ cause: 'graph_changed' }])
    }
  })
})

describe('with encryption', () => {
  const world = usePhases()

  it('input, state and answer are stored sealed, and opened by whoever has the key', async () => {
    const encryption = aesGcm({ current: 'a', keys: { a: randomBytes(32) } })
    let isDown = true
    const secretive = (options: Parameters<typeof world.other>[0]) =>
      operation(
        'pay',
        { reprise: world.other(options), input: anything },
        {
          started: phase(async ({ input }) => advance('second', { card: input })),
          second: foreignCall({
            call: async (_, { card }: { card: unknown }) => {
              if (isDown) throw httpError(503)
              return JSON.stringify(card)
            },
            done: ({ result }) => respond(200, result),
          }),
        },
      )
    const asked = { ...request('k'), input: { number: 'SECRET-4242' } }
    await secretive({ encryption }).run(asked)
    const stored = `select encode(input, 'escape') || encode(state, 'escape') as text
                      from reprise.records`
    expect((await world.pool.query(stored)).rows[0].text).not.toContain('SECRET')
    await expect(secretive({}).run(asked)).rejects.toMatchObject({ code: 'reprise-seal-broken' })

    isDown = false
    const body = '{"number":"SECRET-4242"}'
    expect(seen(await secretive({ encryption }).run(asked))).toEqual(['resumed', 200, body])
    const answer = `select encode(response, 'escape') as text from reprise.records`
    expect((await world.pool.query(answer)).rows[0].text).not.toContain('SECRET')
  })
})

describe('on a store that can not commit the rows of the app', () => {
  it('operations are refused, with the reason', () => {
    const reprise = createReprise({ store: memoryStore() })
    const make = () =>
      // @ts-expect-error the compiler says it first
      operation('pay', { reprise, input: anything }, { started: phase(async () => respond(200)) })
    expect(make).toThrow(
      expect.objectContaining({
        code: 'reprise-transactions-unsupported',
        message: expect.stringContaining('use PostgreSQL'),
      }),
    )
  })
})
