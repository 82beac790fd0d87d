import type { PoolClient } from 'pg'
import { describe, expect, it } from 'vitest'
import { certaintyOf, type Reconciled } from '../../src/phases/foreign-call.ts'
import {
  advance,
  type CallSpec,
  didNotHappen,
  foreignCall,
  happened,
  operation,
  phase,
  type Responded,
  respond,
  retryLater,
  unknown,
  willNotHappen,
} from '../../src/phases/index.ts'
import { additionsOf } from '../../src/telemetry/tally.ts'
import { createWorkers } from '../../src/workers/index.ts'
import {
  anything,
  deed,
  httpError,
  type PhasesWorld,
  request,
  seen,
  socketError,
  usePhases,
} from './phases-world.ts'

type Spec = Pick<
  CallSpec<PoolClient, unknown, undefined, string, Responded, Responded>,
  'call' | 'repeat' | 'reconcile' | 'timeoutMs' | 'failed'
>

/** One call between two phases. */
function paying({ reprise }: Pick<PhasesWorld, 'reprise'>, spec: Spec) {
  const completer = { graceMs: 0, retryMs: 0 }
  return operation(
    'pay',
    { reprise, input: anything, completer },
    {
      started: phase(async ({ tx }) => {
        await deed(tx, 'order')
        return advance('ordered')
      }),
      ordered: foreignCall({
        ...spec,
        done: async ({ tx, result }) => {
          await deed(tx, `paid ${result}`)
          return respond(201, result)
        },
      }),
    },
  )
}

/** A call that never comes back, as when the process dies during it. */
function hanging() {
  let begin: (key: string) => void = () => {}
  const begun = new Promise<string>((resolve) => {
    begin = resolve
  })
  const call: Spec['call'] = async ({ key }) => {
    begin(key)
    return new Promise(() => {})
  }
  return { call, begun }
}

describe('a call whose process died', () => {
  const world = usePhases()

  /** Runs until the call is under way, and leaves it there. */
  async function abandon(spec: Omit<Spec, 'call'>) {
    const { call, begun } = hanging()
    const dying = paying({ reprise: world.other() }, { ...spec, call }).run(request('k'))
    dying.catch(() => {})
    const key = await begun
    await world.lapse()
    return key
  }

  /** What is written down of the calls. */
  async function calls(): Promise<readonly { ending: string | null; call_key: string }[]> {
    const { rows } = await world.pool.query(
      'select ending, call_key from reprise.attempts where call_key is not null order by number',
    )
    return rows
  }

  it('is made again under the same key, unless something else is said', async () => {
    const first = await abandon({})
    const keys: string[] = []
    const again = paying(
      { reprise: world.other() },
      {
        call: async ({ key }) => {
          keys.push(key)
          return 'ch_1'
        },
      },
    )
    expect(seen(await again.run(request('k')))).toEqual(['resumed', 201, 'ch_1'])
    expect(keys).toEqual([first])
    expect(await world.deeds()).toEqual(['order', 'paid ch_1'])
  })

  it('goes to a person when it must not be repeated, with the call that is open', async () => {
    const key = await abandon({ repeat: 'never' })
    const calls: string[] = []
    const op = paying(
      { reprise: world.other() },
      {
        repeat: 'never',
        call: async () => {
          calls.push('again')
          return 'ch_2'
        },
      },
    )
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(calls).toEqual([])
    const letters = await world.letters()
    expect(letters).toHaveLength(1)
    expect(letters[0]).toMatchObject({
      ...{ cause: 'outcome_unknown', point: 'ordered', operation: 'pay', key: 'k', caller: 'acct' },
      error: expect.stringContaining('did not hear'),
    })
    const history = letters[0]?.history.map(({ point, ending, callKey }) => [
      point,
      ending,
      callKey,
    ])
    expect(history).toEqual([
      ['started', 'advanced', null],
      ['ordered', null, key],
    ])
    expect(world.events.map(({ type }) => type)).toContain('dead_letter')
  })

  it('that goes to a person is no duplicate of itself, and those that come after are', async () => {
    const cut = async () => Promise.reject(socketError('ECONNRESET'))
    const op = paying({ reprise: world.other() }, { repeat: 'never', call: cut })
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    const ends = world.events.filter(({ type }) => type === 'unknown')
    expect(ends.map(({ duplicate }) => duplicate !== undefined)).toEqual([false, true])
    expect(ends.flatMap(additionsOf)).toEqual([
      ['miss', 1],
      ['in_progress', 1],
    ])
  })

  const found: [string, Reconciled<string>, unknown[], string[]][] = [
    ['happened', happened('ch_7'), ['resumed', 201, 'ch_7'], ['order', 'paid ch_7']],
    ['did not happen so far', didNotHappen, ['unknown'], ['order']],
    ['will not happen', willNotHappen, ['resumed', 201, 'ch_9'], ['order', 'paid ch_9']],
    ['can not tell', unknown, ['unknown'], ['order']],
  ]
  it.each(found)('and the provider says: %s', async (_, says, result, deeds) => {
    const key = await abandon({ repeat: 'never', reconcile: async () => says })
    const asked: string[] = []
    const op = paying(
      { reprise: world.other() },
      {
        repeat: 'never',
        reconcile: async ({ key }) => {
          asked.push(key)
          return says
        },
        call: async () => 'ch_9',
      },
    )
    expect(seen(await op.run(request('k')))).toEqual(result)
    expect(asked).toEqual([key])
    expect(await world.deeds()).toEqual(deeds)
  })

  it('may be made again once the provider guarantees that it will not happen', async () => {
    const reconcile = async () => willNotHappen
    const key = await abandon({ repeat: 'never', reconcile })
    const answers = [() => Promise.reject(httpError(429)), () => Promise.resolve('ch_9')]
    const op = paying(
      { reprise: world.other() },
      { repeat: 'never', reconcile, call: async () => answers.shift()?.() ?? 'too many' },
    )
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    expect(await calls()).toEqual([
      { ending: 'denied', call_key: key },
      { ending: 'retry_later', call_key: key },
    ])
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_9'])
    expect(await world.letters()).toEqual([])
  })

  it('and the provider can not be asked: as if it could not tell', async () => {
    const reconcile = async () => {
      throw httpError(500)
    }
    await abandon({ repeat: 'never', reconcile })
    const op = paying(
      { reprise: world.other() },
      { repeat: 'never', reconcile, call: async () => 'x' },
    )
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
  })
})

describe('a call that fails', () => {
  const world = usePhases()

  it.each([
    ['a refusal', httpError(402), 'did_not_happen'],
    ['not found', httpError(404), 'did_not_happen'],
    ['too many requests', httpError(429), 'did_not_happen'],
    ['timed out there', httpError(408), 'unknown'],
    ['in use', httpError(409), 'unknown'],
    ['too early', httpError(425), 'unknown'],
    ['broken there', httpError(500), 'unknown'],
    ['unavailable', httpError(503), 'unknown'],
    ['an SDK', Object.assign(new Error(), { statusCode: 402 }), 'did_not_happen'],
    ['axios', Object.assign(new Error(), { response: { status: 400 } }), 'did_not_happen'],
    ['never connected', socketError('ECONNREFUSED'), 'did_not_happen'],
    ['no such host', socketError('ENOTFOUND'), 'did_not_happen'],
    ['cut', socketError('ECONNRESET'), 'unknown'],
    ['timed out', socketError('ETIMEDOUT'), 'unknown'],
    ['anything', new Error('hm'), 'unknown'],
    ['no error at all', 'hm', 'unknown'],
  ])('%s: %s is %s', (_, error, certainty) => {
    expect(certaintyOf(error)).toBe(certainty)
  })

  it('because the provider is down: later, and nothing is stored as final', async () => {
    let isDown = true
    const op = paying(world, {
      call: async () => {
        if (isDown) throw httpError(503)
        return 'ch_1'
      },
    })
    const down = await op.run(request('k'))
    expect(down).toEqual({ outcome: 'postponed', retryAfterMs: 5000 })
    expect((await world.store.list({ limit: 10 })).records[0]?.status).toBe('suspended')
    isDown = false
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_1'])
    expect(await world.deeds()).toEqual(['order', 'paid ch_1'])
  })

  it('because the card is declined: that is the answer, for good', async () => {
    let calls = 0
    const op = paying(world, {
      call: async () => {
        calls++
        throw httpError(402)
      },
      failed: async (error, _, { tx }) => {
        await deed(tx, 'declined')
        return respond(402, String(error))
      },
    })
    const body = 'Error: The provider said 402.'
    expect(seen(await op.run(request('k')))).toEqual(['executed', 402, body])
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 402, body])
    expect(calls).toBe(1)
    expect(await world.deeds()).toEqual(['order', 'declined'])
  })

  it('because it takes too long: nobody knows, and the signal says so', async () => {
    const reasons: unknown[] = []
    const op = paying(world, {
      ...{ timeoutMs: 20, repeat: 'never' },
      call: ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason)
            reject(new Error('aborted'))
          })
        }),
    })
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(reasons).toEqual([
      expect.objectContaining({ message: expect.stringContaining('20 ms') }),
    ])
    const [letter] = await world.letters()
    expect(letter).toMatchObject({
      cause: 'outcome_unknown',
      error: expect.stringContaining('20 ms'),
    })
  })

  it('and is known to have done nothing is repeated even if it must not be', async () => {
    const errors = [socketError('ECONNREFUSED'), httpError(429)]
    const op = paying(world, {
      repeat: 'never',
      call: async () => {
        const error = errors.shift()
        if (error !== undefined) throw error
        return 'ch_1'
      },
    })
    expect((await op.run(request('k'))).outcome).toBe('postponed')
    expect((await op.run(request('k'))).outcome).toBe('postponed')
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_1'])
    expect(await world.letters()).toEqual([])
  })

  it.each([
    ['happened after all', happened('ch_late'), ['resumed', 201, 'ch_late'], 1],
    ['still knows nothing', didNotHappen, ['unknown'], 1],
    ['has voided it', willNotHappen, ['resumed', 201, 'ch_2'], 2],
    ['can not tell', unknown, ['unknown'], 1],
  ] as const)(
    'and of which the provider knows nothing is asked about again: %s',
    async (_, later, result, made) => {
      let calls = 0
      const says: Reconciled<string>[] = [didNotHappen, later]
      const op = paying(world, {
        repeat: 'never',
        reconcile: async () => says.shift() ?? unknown,
        call: async () => {
          if (++calls === 1) throw socketError('ETIMEDOUT')
          return `ch_${calls}`
        },
      })
      expect(seen(await op.run(request('k')))).toEqual(['postponed'])
      expect(seen(await op.run(request('k')))).toEqual(result)
      expect([calls, says]).toEqual([made, []])
      expect(await world.letters()).toHaveLength(result[0] === 'unknown' ? 1 : 0)
    },
  )

  it('and that the provider only denies is made again when a person says that it did not happen', async () => {
    let made = 0
    const op = paying(world, {
      repeat: 'never',
      reconcile: async () => didNotHappen,
      call: async () => {
        if (++made === 1) throw socketError('ETIMEDOUT')
        return `ch_${made}`
      },
    })
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    const [letter] = await world.letters()
    expect(await world.settle(letter, 'resume')).toBe(true)
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_2'])
    expect(made).toBe(2)
  })

  it.each([true, 'happened', {}, null, undefined, { certainty: 'happened' }])(
    'goes to a person when `reconcile` gives %j, which nobody understands',
    async (said) => {
      let made = 0
      const op = paying(world, {
        repeat: 'never',
        // A program in JavaScript may give anything.
        reconcile: async () => said as Reconciled<string>,
        call: async () => {
          made++
          throw socketError('ETIMEDOUT')
        },
      })
      expect(seen(await op.run(request('k')))).toEqual(['unknown'])
      expect(seen(await op.run(request('k')))).toEqual(['unknown'])
      expect(made).toBe(1)
    },
  )

  it('leaves nothing of what `failed` did when it is tried later', async () => {
    const op = operation(
      'pay',
      { reprise: world.reprise, input: anything },
      {
        started: foreignCall({
          call: async (): Promise<string> => {
            throw httpError(500)
          },
          done: () => respond(201),
          failed: async (_error: unknown, _state: undefined, { tx, stage }) => {
            await deed(tx, 'noted')
            await stage('tell', {})
            return retryLater({ afterMs: 70, reason: 'not now' })
          },
        }),
      },
    )
    expect(await op.run(request('k'))).toEqual({ outcome: 'postponed', retryAfterMs: 70 })
    expect(await world.deeds()).toEqual([])
    expect(await world.work.jobs.nextDueMs()).toBeUndefined()
    const { records } = await world.store.list({ limit: 1 })
    const history = await world.work.history(records[0]?.record.id ?? '')
    expect(history).toMatchObject([{ point: 'started', ending: 'retry_later', error: 'not now' }])
  })
})

describe('the key of a call', () => {
  const world = usePhases()

  it('is stable over attempts, its own per record and point, and new with a new record', async () => {
    const keys: string[] = []
    let isDown = true
    const call: Spec['call'] = async ({ key }) => {
      keys.push(key)
      if (isDown) throw httpError(503)
      return 'ch'
    }
    const completer = { graceMs: 0, retryMs: 0 }
    const op = operation(
      'pay',
      { reprise: world.reprise, input: anything, completer },
      {
        started: foreignCall({ call, done: () => advance('second') }),
        second: foreignCall({ call, done: () => respond(201) }),
      },
    )
    await op.run(request('a'))
    await op.run(request('a'))
    isDown = false
    await createWorkers(world.reprise, { operations: [op] }).completer?.runOnce()
    await op.run(request('b'))
    await world.age(100 * 3_600_000)
    await op.run(request('a'))

    const [first, second, third, fourth, ...rest] = keys
    expect(first).toMatch(/^reprise-[\w-]{22}-started$/)
    expect([second, third]).toEqual([first, first])
    expect(fourth).toBe(first?.replace(/started$/, 'second'))
    expect(rest).toHaveLength(4)
    expect(new Set([first, fourth, ...rest]).size).toBe(6)
    expect(first).not.toContain('a-started')
  })
})

describe('during a call', () => {
  const world = usePhases(1)

  it('no transaction is open and no connection is held: a pool of one has it free', async () => {
    const op = paying(world, {
      call: async () => {
        const { rows } = await world.pool.query(
          `select count(*)::integer as open from pg_stat_activity
            where datname = current_database() and state like 'idle in%'`,
        )
        return `ch_${rows[0].open}`
      },
    })
    expect(seen(await op.run(request('k')))).toEqual(['executed', 201, 'ch_0'])
  })
})
