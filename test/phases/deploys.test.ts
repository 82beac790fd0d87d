/**
 * Two versions of an operation on one database, as in a rolling deploy: the version that does not
 * understand a record leaves it alone, and the version that does finishes it.
 */

import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import {
  advance,
  type Migrate,
  type OperationOptions,
  operation,
  phase,
  respond,
  retryLater,
} from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, deed, request, seen, usePhases } from './phases-world.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

describe('a rolling deploy', () => {
  const world = usePhases()

  /** Whether the phases that end the operation say "later". */
  let isDown = true

  type Given = Pick<
    OperationOptions<PoolClient, unknown>,
    'version' | 'migrate' | 'otherVersionMs' | 'completer'
  >

  const last = () =>
    phase(async ({ tx }: { tx: PoolClient }) => {
      if (isDown) return retryLater({ reason: 'down' })
      await deed(tx, 'made')
      return respond(201, 'made')
    })

  function options(given: Given) {
    const completer = { graceMs: 0, retryMs: 60_000, ...given.completer }
    return { reprise: world.other(), input: anything, ...given, completer }
  }

  /** started, middle, and the answer there. */
  const two = (given: Given = {}) =>
    operation('make', options(given), {
      started: phase(async ({ tx }: { tx: PoolClient }) => {
        await deed(tx, 'begun')
        return advance('middle')
      }),
      middle: last(),
    })

  /** As `two`, with the middle under another name. */
  const renamed = (given: Given = {}) =>
    operation('make', options(given), {
      started: phase(async ({ tx }: { tx: PoolClient }) => {
        await deed(tx, 'begun')
        return advance('centre')
      }),
      centre: last(),
    })

  /** As `two`, with one more phase behind the middle. */
  const three = (given: Given = {}) =>
    operation('make', options(given), {
      started: phase(async ({ tx }: { tx: PoolClient }) => {
        await deed(tx, 'begun')
        return advance('middle')
      }),
      middle: phase(async () => advance('added')),
      added: last(),
    })

  type Make = (given?: Given) => ReturnType<typeof two>

  const toMiddle: Migrate = ({ version }) => (version === 1 ? { point: 'middle' } : null)

  /** Whose record it is, and which version does not understand it. */
  const deploys: [string, { owner: Make; stranger: Make }][] = [
    ['added a phase, and an old node meets it', { owner: three, stranger: two }],
    ['removed a phase, and a new node meets a record there', { owner: three, stranger: two }],
    ['renamed a point, and an old node meets it', { owner: renamed, stranger: two }],
    ['renamed a point, and a new node meets the old name', { owner: two, stranger: renamed }],
    [
      'raised the version and migrates, and an old node meets a record of the new one',
      {
        owner: (given) => two({ version: 2, migrate: toMiddle, ...given }),
        stranger: two,
      },
    ],
    [
      'raised the version again, and an old node that migrates meets a record of the newest',
      {
        owner: (given) => two({ version: 3, ...given }),
        stranger: (given) => two({ version: 2, migrate: () => ({ point: 'middle' }), ...given }),
      },
    ],
    [
      'raised the version without a migration, and an old node meets a record of the new one',
      { owner: (given) => two({ version: 2, ...given }), stranger: two },
    ],
    [
      'raised the version without a migration, and a new node meets an old record',
      { owner: two, stranger: (given) => two({ version: 2, ...given }) },
    ],
  ]

  /** Leaves a record where the owner's version has brought it. */
  async function stopped(owner: Make) {
    isDown = true
    const op = owner()
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    isDown = false
    return op
  }

  async function record() {
    const { rows } = await world.pool.query(
      `select recovery_point, owner, lease_until, coalesce(tries, 0) as tries, fence
         from reprise.records`,
    )
    return rows[0]
  }

  const complete = async (op: ReturnType<typeof two>) => {
    return createWorkers(world.reprise, { operations: [op] }).completer?.runOnce()
  }

  describe.each(deploys)('that %s', (_, { owner, stranger }) => {
    it('tells clients to come back, and the version that understands it goes on', async () => {
      const own = await stopped(owner)
      for (let retry = 0; retry < 3; retry++) {
        expect(await stranger().run(request('k'))).toEqual({
          outcome: 'postponed',
          retryAfterMs: 5000,
        })
      }
      expect(await record()).toMatchObject({ owner: null, lease_until: null })
      expect(seen(await own.run(request('k')))).toEqual(['resumed', 201, 'made'])
      expect(seen(await stranger().run(request('k')))).toEqual(['replayed', 201, 'made'])
      expect([await world.deeds(), await world.letters()]).toEqual([['begun', 'made'], []])
    })

    it('has completers of one version leave the record to those of the other', async () => {
      const own = await stopped(owner)
      await world.age(61_000)
      // Takes it once, and does not come back to it.
      expect(await complete(stranger())).toBe(1)
      expect(await complete(stranger())).toBe(0)
      expect(await record()).toMatchObject({ owner: null, tries: 0 })
      // The other version need not wait for a pause.
      expect(await complete(own)).toBe(1)
      expect(seen(await stranger().run(request('k')))).toEqual(['replayed', 201, 'made'])
      expect([await world.deeds(), await world.letters()]).toEqual([['begun', 'made'], []])
    })

    it('puts before a person, once, what no version has understood in time', async () => {
      await stopped(owner)
      const op = stranger({ otherVersionMs: 2 * HOUR_MS })
      await world.age(61_000)
      expect(await complete(op)).toBe(1)
      await world.age(HOUR_MS)
      expect(seen(await op.run(request('k')))).toEqual(['postponed'])
      expect(await world.letters()).toEqual([])
      await world.age(HOUR_MS)
      expect(await complete(op)).toBe(1)
      expect(await complete(op)).toBe(0)
      expect(seen(await op.run(request('k')))).toEqual(['unknown'])
      expect(await world.letters()).toMatchObject([{ cause: 'graph_changed', tries: 1 }])
      expect(await world.deeds()).toEqual(['begun'])
    })
  })

  it('that only added a phase has new nodes go on with the records of old ones', async () => {
    await stopped(two)
    expect(seen(await three().run(request('k')))).toEqual(['resumed', 201, 'made'])
    expect(await world.deeds()).toEqual(['begun', 'made'])
  })

  it('has an old node run a record that a new one began and did not get anywhere with', async () => {
    const dying = operation('make', options({}), {
      started: phase(async () => Promise.reject(new Error('dies'))),
      added: last(),
    } as never)
    await expect(dying.run(request('k'))).rejects.toThrow('dies')
    isDown = false
    expect(seen(await two().run(request('k')))).toEqual(['resumed', 201, 'made'])
  })

  it('buries nothing while a version that understands the record keeps trying', async () => {
    const own = await stopped(three)
    const stranger = two({ otherVersionMs: 2 * HOUR_MS })
    isDown = true
    for (let hour = 0; hour < 6; hour++) {
      expect(seen(await stranger.run(request('k')))).toEqual(['postponed'])
      await world.age(HOUR_MS)
      expect(seen(await own.run(request('k')))).toEqual(['postponed'])
      await world.age(HOUR_MS)
    }
    expect(await world.letters()).toEqual([])
    isDown = false
    expect(seen(await own.run(request('k')))).toEqual(['resumed', 201, 'made'])
  })

  it('has no version use up the tries of another', async () => {
    const own = await stopped(three)
    const stranger = two({ completer: { triesMax: 1 }, otherVersionMs: 30 * DAY_MS })
    isDown = true
    for (let day = 0; day < 5; day++) {
      await world.age(HOUR_MS + 1000)
      expect(await complete(stranger)).toBe(1)
      expect(await complete(own)).toBe(1)
    }
    expect(await record()).toMatchObject({ tries: 5 })
    expect(await world.letters()).toEqual([])
    isDown = false
    expect(seen(await own.run(request('k')))).toEqual(['resumed', 201, 'made'])
  })

  it('has clients that come back to one version keep no completer of the other away', async () => {
    const own = await stopped(three)
    await world.age(10_000)
    expect(seen(await two().run(request('k')))).toEqual(['postponed'])
    expect(await complete(own)).toBe(1)
    expect(await world.deeds()).toEqual(['begun', 'made'])
  })

  it('is one line of history for each version, with what it did not understand', async () => {
    await stopped(three)
    const stranger = two()
    for (let retry = 0; retry < 4; retry++) await stranger.run(request('k'))
    await renamed().run(request('k'))
    await stranger.run(request('k'))
    const { records } = await world.store.list({ limit: 1 })
    const history = await world.work.history(records[0]?.record.id ?? '')
    const error = 'The point added of version 1 is not understood by version 1 of make.'
    expect(history.map(({ point, ending, error }) => [point, ending, error])).toEqual([
      ['started', 'advanced', null],
      ['middle', 'advanced', null],
      ['added', 'retry_later', 'down'],
      ['added', 'retry_later', error],
      ['added', 'retry_later', error],
    ])
  })

  it('that is undone leaves its records for a person, who has them go on when it is done again', async () => {
    const own = await stopped(three)
    const old = two({ otherVersionMs: 0 })
    expect(seen(await old.run(request('k')))).toEqual(['unknown'])
    const [letter] = await world.letters()
    expect(await world.settle(letter, 'resume')).toBe(true)
    expect(seen(await own.run(request('k')))).toEqual(['resumed', 201, 'made'])
  })

  it('has a run that lost its lease leave nothing', async () => {
    const own = await stopped(three)
    const { rows } = await world.pool.query(`select encode(id, 'hex') as id from reprise.records`)
    expect(rows).toHaveLength(1)
    const { records } = await world.store.list({ limit: 1 })
    const claim = { id: records[0]?.record.id ?? '', owner: 'A'.repeat(22), fence: 1 }
    const attempt = { point: 'added', actor: 'request', tookMs: 0, callKey: null } as const
    const leaving = { operation: 'make', version: '1', otherVersionMs: 0, error: 'no' }
    expect(await world.work.phases.leave(claim, attempt, leaving)).toBe('lost')
    expect(seen(await own.run(request('k')))).toEqual(['resumed', 201, 'made'])
  })

  it.each([-1, Number.NaN, 1.5])('is not waited for %d ms', (otherVersionMs) => {
    expect(() => two({ otherVersionMs })).toThrow(/otherVersionMs/)
  })
})
