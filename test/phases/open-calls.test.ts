import type { PoolClient } from 'pg'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  type CallSpec,
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
import { freshOwner, rivalOf, sampleRequest } from '../../src/testing/contract/sample.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, deed, request, seen, socketError, usePhases } from './phases-world.ts'

type Spec = Pick<
  CallSpec<PoolClient, unknown, undefined, string, Responded, Responded>,
  'call' | 'reconcile'
>

describe('a call that may be repeated, and of which nobody knows what became of it', () => {
  const world = usePhases()

  function paying(spec: Spec) {
    return operation(
      'pay',
      { reprise: world.other(), input: anything, completer: { graceMs: 0, retryMs: 0 } },
      {
        started: foreignCall({
          ...spec,
          done: async ({ tx, result }) => {
            await deed(tx, `paid ${result}`)
            return respond(201, result)
          },
        }),
      },
    )
  }

  /** How the calls that were made have ended. */
  async function endings(): Promise<readonly unknown[]> {
    const { rows } = await world.pool.query(
      'select ending from reprise.attempts where call_key is not null order by number',
    )
    return rows.map(({ ending }) => ending)
  }

  it('is not made again when the provider has heard of it by the next try', async () => {
    const says = [unknown, happened('ch_1')]
    let made = 0
    const op = paying({
      reconcile: async () => says.shift() ?? unknown,
      call: async () => {
        made++
        throw socketError('ETIMEDOUT')
      },
    })
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    expect(await endings()).toEqual([null])

    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_1'])
    expect([made, says]).toEqual([1, []])
    expect(await world.deeds()).toEqual(['paid ch_1'])
  })

  it('is asked about before each repetition, for as long as it is open', async () => {
    const asked: string[] = []
    const answers = [
      () => Promise.reject(socketError('ETIMEDOUT')),
      () => Promise.reject(socketError('ECONNREFUSED')),
      () => Promise.resolve('ch_3'),
    ]
    const op = paying({
      reconcile: async () => {
        asked.push(`before call ${4 - answers.length}`)
        return answers.length === 2 ? unknown : willNotHappen
      },
      call: async () => answers.shift()?.() ?? 'too many',
    })
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_3'])
    expect(asked).toEqual(['before call 2', 'before call 2', 'before call 3'])
  })

  it('is looked for only where an earlier run may have noted one', async () => {
    const { phases } = world.work
    const { begunCall } = phases
    let looks = 0
    phases.begunCall = (...args) => {
      looks++
      return begunCall.apply(phases, args)
    }
    try {
      const noted = paying({ reconcile: async () => unknown, call: async () => 'ch_1' })
      expect(seen(await noted.run(request('noted')))).toEqual(['executed', 201, 'ch_1'])
      let isDown = true
      const unnoted = paying({
        call: async () => {
          if (isDown) throw socketError('ETIMEDOUT')
          return 'ch_2'
        },
      })
      expect(seen(await unnoted.run(request('unnoted')))).toEqual(['postponed'])
      isDown = false
      expect(seen(await unnoted.run(request('unnoted')))).toEqual(['resumed', 201, 'ch_2'])
      expect(looks).toBe(0)
    } finally {
      phases.begunCall = begunCall
    }
  })
})

describe('a call that is noted as begun', () => {
  const world = usePhases()

  it('by a run that holds nothing changes nothing of the calls before', async () => {
    const { phases } = world.work
    const asked = sampleRequest({ recoveryPoint: 'started', input: new Uint8Array() })
    const first = await world.store.claim(asked)
    if (!('claim' in first)) throw new Error('It is not fresh.')
    const attempt = { point: 'started', actor: 'request', tookMs: 0, callKey: 'k' } as const
    expect(await phases.beginCall(first.claim, attempt, { deniesEarlier: false })).toBe(true)
    await world.lapse()
    const second = await world.store.claim(rivalOf(asked))
    if (!('claim' in second)) throw new Error('It was not taken over.')

    for (const lost of [
      { ...second.claim, owner: freshOwner() },
      { ...second.claim, fence: second.claim.fence + 1 },
    ]) {
      expect(await phases.beginCall(lost, attempt, { deniesEarlier: true })).toBe(false)
      expect(await phases.begunCall(asked.id, 'k')).toBe('open')
    }
    expect(await phases.beginCall(second.claim, attempt, { deniesEarlier: true })).toBe(true)
  })
})

describe('a record that makes way for another of its key', () => {
  const world = usePhases()
  const DAY_MS = 86_400_000

  it('takes its attempts along: the new one has a history of its own, and makes its call', async () => {
    let isDown = true
    const op = operation(
      'pay',
      { reprise: world.other(), input: anything, retentionMs: DAY_MS },
      {
        started: foreignCall({
          repeat: 'never',
          call: async () => {
            if (isDown) throw socketError('ECONNREFUSED')
            return 'ch_1'
          },
          done: ({ result }) => respond(201, result),
        }),
      },
    )
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    const [old] = (await world.store.list({ limit: 1 })).records
    const id = old?.record.id ?? ''
    expect(await world.work.history(id)).toHaveLength(1)

    await world.age(2 * DAY_MS)
    isDown = false
    expect(seen(await op.run(request('k')))).toEqual(['executed', 201, 'ch_1'])
    expect(await world.work.history(id)).toMatchObject([{ point: 'started', ending: 'responded' }])
    expect(await world.letters()).toMatchObject([{ cause: 'abandoned' }])
  })
})

describe('a phase that is to be tried later', () => {
  const world = usePhases()

  function later() {
    return operation(
      'later',
      { reprise: world.other(), input: anything, completer: { graceMs: 0, retryMs: 0 } },
      { started: phase(async () => retryLater({ reason: 'not now' })) },
    )
  }

  it('counts as failed where nobody can say whether its own code has committed it', async () => {
    const { phases } = world.work
    const { begin } = phases
    phases.begin = async (...args) => {
      const open = await begin.apply(phases, args)
      return open && Object.assign(open, { isCommitted: async () => undefined })
    }
    onTestFinished(() => void Object.assign(phases, { begin }))
    expect(seen(await later().run(request('k')))).toEqual(['postponed'])
    const [kept] = (await world.store.list({ limit: 1 })).records
    expect(await world.work.history(kept?.record.id ?? '')).toMatchObject([{ ending: 'threw' }])
  })

  it('is told of with how long it took, also when a worker tries it', async () => {
    const op = later()
    expect(seen(await op.run(request('k')))).toEqual(['postponed'])
    await world.lapse()
    const workers = createWorkers(world.other(), { operations: [op], reaper: false })
    await workers.completer?.runOnce()

    const history = await world.work.history(
      (await world.store.list({ limit: 1 })).records[0]?.record.id ?? '',
    )
    expect(history.map(({ actor }) => actor)).toContain('completer')
    expect(world.events.length).toBeGreaterThan(0)
    for (const { elapsedMs } of world.events) expect(elapsedMs).toBeGreaterThanOrEqual(0)
  })
})
