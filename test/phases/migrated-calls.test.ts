/** Foreign calls of records that a deploy moves: one call, under one key, whatever the points are called. */

import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import {
  advance,
  type CallSpec,
  didNotHappen,
  foreignCall,
  type Migrate,
  operation,
  phase,
  type Reconciled,
  respond,
  type Stored,
  unknown,
  willNotHappen,
} from '../../src/phases/index.ts'
import { anything, deed, request, seen, socketError, usePhases } from './phases-world.ts'

type Repeat = NonNullable<CallSpec<unknown, unknown, unknown, unknown, never, never>['repeat']>

/** A provider that honours keys, and what it was asked. */
class Provider {
  readonly keys: string[] = []
  readonly asked: string[] = []
  says: Reconciled<string> = unknown
  /** How many charges there are. */
  get charges(): number {
    return new Set(this.keys).size
  }
}

describe('a call of a record that a deploy moves', () => {
  const world = usePhases()

  interface Making {
    readonly provider: Provider
    readonly version: number
    /** What the points are called in this version. */
    readonly names: readonly [first: string, call: string]
    readonly migrate?: Migrate
    readonly repeat?: Repeat
    readonly reconciles?: boolean
    /** Whether the answer of the provider gets lost. */
    readonly isCut?: boolean
    /** How long a record that this version does not understand is left to others. */
    readonly otherVersionMs?: number
  }

  /** A phase, the charge, and the answer. */
  function paying(making: Making) {
    const { provider, version, names, repeat = 'with-key', isCut = false } = making
    const [first, call] = names
    const { migrate, otherVersionMs = 0 } = making
    const asks = {
      reconcile: async ({ key }: { key: string }) => {
        provider.asked.push(key)
        return provider.says
      },
    }
    const options = { reprise: world.other(), input: anything, version, otherVersionMs }
    const phases = {
      started: phase(async ({ tx }: { tx: PoolClient }) => {
        await deed(tx, 'order')
        return advance(first)
      }),
      [first]: phase(async () => advance(call)),
      [call]: foreignCall({
        repeat,
        ...(making.reconciles === true ? asks : {}),
        call: async ({ key }): Promise<string> => {
          provider.keys.push(key)
          if (isCut) throw socketError('ECONNRESET')
          return 'ch'
        },
        done: async ({ tx }: { tx: PoolClient }) => {
          await deed(tx, 'paid')
          return respond(201)
        },
      }),
    }
    // The compiler does not know the names of the points.
    const given = migrate === undefined ? options : { ...options, migrate }
    return operation('pay', given, phases as never)
  }

  /** Makes the call in version 1, and dies before it hears of it. */
  async function died(provider: Provider, repeat: Repeat = 'with-key', reconciles = false) {
    let begin = () => {}
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const hangs = operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async ({ tx }) => {
          await deed(tx, 'order')
          return advance('ordered')
        }),
        ordered: phase(async () => advance('charge')),
        charge: foreignCall({
          repeat,
          ...(reconciles ? { reconcile: async () => unknown } : {}),
          call: async ({ key }): Promise<string> => {
            provider.keys.push(key)
            begin()
            return new Promise(() => {})
          },
          done: async () => respond(201),
        }),
      },
    )
    hangs.run(request('k')).catch(() => {})
    await begun
    await world.lapse()
  }

  /** Moves whatever stands at a call to the point. */
  const to =
    (point: string, given: object = {}): Migrate =>
    () => ({ point, ...given })

  it('keeps its key, however often it is renamed', async () => {
    const provider = new Provider()
    await died(provider)
    const second = paying({
      ...{ provider, version: 2, names: ['ordered', 'pay'], migrate: to('pay'), isCut: true },
    })
    expect(seen(await second.run(request('k')))).toEqual(['postponed'])
    const third = paying({
      ...{ provider, version: 3, names: ['ordered', 'collect'], migrate: to('collect') },
    })
    expect(seen(await third.run(request('k')))).toEqual(['resumed', 201, ''])
    expect([provider.keys.length, provider.charges]).toEqual([3, 1])
    expect(await world.deeds()).toEqual(['order', 'paid'])
  })

  it.each([
    ['nobody is asked', false, unknown],
    ['the provider can not tell', true, unknown],
    ['the provider does not know of it so far', true, didNotHappen],
  ] as const)('is not made a second time if it must not be: %s', async (_, reconciles, says) => {
    const provider = new Provider()
    provider.says = says
    await died(provider, 'never', reconciles)
    const renamed = paying({
      ...{ provider, version: 2, names: ['ordered', 'pay'], migrate: to('pay') },
      ...{ repeat: 'never', reconciles },
    })
    expect(seen(await renamed.run(request('k')))).toEqual(['unknown'])
    expect(provider.keys).toHaveLength(1)
    expect(provider.asked).toEqual(reconciles ? provider.keys : [])
    expect(await world.letters()).toMatchObject([{ cause: 'outcome_unknown', point: 'charge' }])
  })

  it('is made again under its key when the provider says under the new name that it never will happen', async () => {
    const provider = new Provider()
    provider.says = willNotHappen
    await died(provider, 'never', true)
    const renamed = paying({
      ...{ provider, version: 2, names: ['ordered', 'pay'], migrate: to('pay') },
      ...{ repeat: 'never', reconciles: true },
    })
    expect(seen(await renamed.run(request('k')))).toEqual(['resumed', 201, ''])
    expect([provider.keys.length, provider.charges]).toEqual([2, 1])
  })

  it('that was renamed and cut is asked about by the version that renames it again', async () => {
    const provider = new Provider()
    provider.says = didNotHappen
    await died(provider, 'with-key', true)
    const making = { provider, reconciles: true }
    const second = paying({
      ...{ ...making, version: 2, names: ['ordered', 'pay'], migrate: to('pay'), isCut: true },
    })
    expect(seen(await second.run(request('k')))).toEqual(['postponed'])
    const third = paying({
      ...{ ...making, version: 3, names: ['ordered', 'collect'], migrate: to('collect') },
      repeat: 'never',
    })
    expect(seen(await third.run(request('k')))).toEqual(['unknown'])
    expect([provider.keys.length, provider.charges]).toEqual([2, 1])
  })

  it.each([
    ['may be repeated', 'must not be in the next', 'with-key', 'never'],
    ['must not be repeated', 'may be in the next', 'never', 'with-key'],
  ] as const)(
    'that %s in one version and %s is not made a second time',
    async (_was, _is, before, after) => {
      const provider = new Provider()
      await died(provider, before)
      const names = ['ordered', 'charge'] as const
      const op = paying({ provider, version: 1, names, repeat: after })
      expect(seen(await op.run(request('k')))).toEqual(['unknown'])
      expect(provider.keys).toHaveLength(1)
      expect(await world.letters()).toMatchObject([{ cause: 'outcome_unknown', point: 'charge' }])
    },
  )

  it('tells `migrate` its key; a phase has none', async () => {
    const provider = new Provider()
    await died(provider)
    const given: Stored[] = []
    const renamed = paying({
      ...{ provider, version: 2, names: ['ordered', 'pay'] },
      migrate: (stored) => {
        given.push(stored)
        return { point: 'pay' }
      },
    })
    await renamed.run(request('k'))
    expect(given).toMatchObject([{ point: 'charge', call: { key: provider.keys[0] } }])
  })

  it.each(['with-key', 'always', 'never'] as const)(
    'and that may have been begun (%s) is put before a person when it is moved to a phase without a word',
    async (repeat) => {
      const provider = new Provider()
      await died(provider, repeat)
      const moved = paying({
        ...{ provider, version: 2, names: ['before', 'pay'], migrate: to('before'), repeat },
      })
      expect(seen(await moved.run(request('k')))).toEqual(['unknown'])
      expect(provider.keys).toHaveLength(1)
      expect(await world.letters()).toMatchObject([
        { cause: 'graph_changed', point: 'charge', error: expect.stringContaining('settled') },
      ])
    },
  )

  it('goes on at a phase when `migrate` says that the call is settled, and the next call is another', async () => {
    const provider = new Provider()
    await died(provider, 'never')
    const moved = paying({
      ...{ provider, version: 2, names: ['before', 'pay'], repeat: 'never' },
      migrate: to('before', { call: 'settled' }),
    })
    expect(seen(await moved.run(request('k')))).toEqual(['resumed', 201, ''])
    expect(provider.charges).toBe(2)
  })

  it('can not be settled and another made in its place: that one would have its key', async () => {
    const provider = new Provider()
    await died(provider)
    const moved = paying({
      ...{ provider, version: 2, names: ['ordered', 'pay'] },
      migrate: to('pay', { call: 'settled' }),
    })
    expect(seen(await moved.run(request('k')))).toEqual(['unknown'])
    expect(provider.keys).toHaveLength(1)
  })

  it('is put before a person when its point has become a phase', async () => {
    const provider = new Provider()
    await died(provider)
    const op = operation(
      'pay',
      { reprise: world.other(), input: anything, otherVersionMs: 0 },
      {
        started: phase(async () => advance('ordered')),
        ordered: phase(async () => advance('charge')),
        charge: phase(async () => respond(201)),
      },
    )
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(await world.letters()).toMatchObject([{ cause: 'graph_changed', point: 'charge' }])
  })

  it('keeps its key as the first of an operation', async () => {
    const keys: string[] = []
    const making = (version: number, point: 'started' | 'pay', isCut: boolean) => {
      const charge = foreignCall({
        call: async ({ key }): Promise<string> => {
          keys.push(key)
          if (isCut) throw socketError('ECONNRESET')
          return 'ch'
        },
        done: async () => respond(201),
      })
      const options = { reprise: world.other(), input: anything, version, migrate: to('pay') }
      const phases =
        point === 'started'
          ? { started: charge }
          : { started: phase(async () => advance('pay')), pay: charge }
      return operation('pay', options, phases as never)
    }
    expect(seen(await making(1, 'started', true).run(request('k')))).toEqual(['postponed'])
    expect(seen(await making(2, 'pay', false).run(request('k')))).toEqual(['resumed', 201, ''])
    expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  })

  it('has one key from the moment a phase is moved to it', async () => {
    const keys: string[] = []
    const stops = operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => advance('ordered')),
        ordered: phase(async () => Promise.reject(new Error('not now'))),
      },
    )
    await expect(stops.run(request('k'))).rejects.toThrow('not now')
    const provider = new Provider()
    for (const version of [2, 3]) {
      const names = ['middle', `pay in ${version}`] as const
      const op = paying({ provider, version, names, migrate: to(names[1]), isCut: version === 2 })
      keys.push(String(seen(await op.run(request('k')))[0]))
    }
    expect(keys).toEqual(['postponed', 'resumed'])
    expect([provider.keys.length, provider.charges]).toEqual([2, 1])
  })

  it('has one key when an old version takes up a record that a new one moved from a phase to it', async () => {
    const stops = operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => advance('ordered')),
        ordered: phase(async () => Promise.reject(new Error('not now'))),
      },
    )
    await expect(stops.run(request('k'))).rejects.toThrow('not now')
    const provider = new Provider()
    const newer = paying({
      ...{ provider, version: 1, names: ['middle', 'charge'], migrate: to('charge'), isCut: true },
    })
    expect(seen(await newer.run(request('k')))).toEqual(['postponed'])
    const older = paying({ provider, version: 1, names: ['ordered', 'charge'] })
    expect(seen(await older.run(request('k')))).toEqual(['resumed', 201, ''])
    expect([provider.keys.length, provider.charges]).toEqual([2, 1])
  })
})

describe('a call that a record has made', () => {
  const world = usePhases()

  type Points = Readonly<Record<string, ReturnType<typeof phase>>>

  /** Charges at `charge`, and stops at `charged`. */
  async function charged(keys: string[]) {
    const op = operation('pay', { reprise: world.other(), input: anything }, {
      started: phase(async () => advance('charge')),
      charge: charging(keys, 'charged'),
      charged: phase(async () => Promise.reject(new Error('not now'))),
    } as Points as never)
    await expect(op.run(request('k'))).rejects.toThrow('not now')
  }

  function charging(keys: string[], next: string, repeat: Repeat = 'never') {
    return foreignCall({
      repeat,
      call: async ({ key }): Promise<string> => {
        keys.push(key)
        return 'ch'
      },
      done: async () => advance(next),
    })
  }

  function moved(point: string, phases: Points) {
    const migrate: Migrate = () => ({ point })
    const options = { reprise: world.other(), input: anything, version: 2, migrate }
    return operation('pay', { ...options, otherVersionMs: 0 }, phases as never)
  }

  it('is not made again when `migrate` leads back to it', async () => {
    const keys: string[] = []
    await charged(keys)
    const op = moved('charge', {
      started: phase(async () => advance('charge')),
      charge: charging(keys, 'charged'),
      charged: phase(async () => respond(201)),
    })
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(keys).toHaveLength(1)
    expect(await world.letters()).toMatchObject([
      { cause: 'graph_changed', error: expect.stringContaining('charge was made') },
    ])
  })

  it('is not made again when `migrate` leads to a phase before it', async () => {
    const keys: string[] = []
    await charged(keys)
    const op = moved('started', {
      started: phase(async ({ tx }) => {
        await deed(tx as PoolClient, 'order again')
        return advance('charge')
      }),
      charge: charging(keys, 'charged'),
      charged: phase(async () => respond(201)),
    })
    await expect(op.run(request('k'))).rejects.toThrow('charge was made')
    expect([keys.length, await world.deeds()]).toEqual([1, []])
  })

  it('has given its key to no other call, also where a later version gives its old name away', async () => {
    const keys: string[] = []
    const cut = operation(
      'pay',
      { reprise: world.other(), input: anything },
      {
        started: phase(async () => advance('charge')),
        charge: foreignCall({
          call: async ({ key }): Promise<string> => {
            keys.push(key)
            throw socketError('ECONNRESET')
          },
          done: async () => respond(201),
        }),
      },
    )
    expect(seen(await cut.run(request('k')))).toEqual(['postponed'])
    const op = moved('authorize', {
      started: phase(async () => advance('authorize')),
      authorize: charging(keys, 'charge', 'with-key'),
      charge: charging(keys, 'charged', 'with-key'),
      charged: phase(async () => respond(201)),
    })
    // The name `charge` stands for a call that may have been made: a person decides.
    await expect(op.run(request('k'))).rejects.toThrow('charge was made')
    expect([keys.length, new Set(keys).size]).toEqual([2, 1])
  })
})
