/** What a person decides is kept for as long as the request was promised, whoever writes it down. */

import { describe, expect, it } from 'vitest'
import { createAdmin } from '../../src/admin/index.ts'
import { deadLetters, foreignCall, operation, phase, respond } from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, request, seen, socketError, usePhases } from './phases-world.ts'

const HOUR_MS = 3_600_000
/** Longer than the engine keeps answers, shorter than an operation does. */
const LATER_MS = 48 * HOUR_MS
const KEPT_MS = 72 * HOUR_MS
const DECISION = { author: 'ada', note: 'Looked at the ledger.' }
const ORDER = { author: 'ada', reason: 'Looked at the ledger.' }
const WIRE = { caller: 'acct', operation: 'wire', key: 'k', fingerprints: ['f-1'] }

describe('the answer that a person gives to a dead letter', () => {
  const world = usePhases()
  const answer = { status: 201, body: 'ch_0' }
  const open = async () => {
    const [letter, ...more] = (await world.letters()).filter(({ settledAt }) => settledAt === null)
    expect(more).toEqual([])
    return letter?.letter ?? ''
  }

  /** An operation whose call must not be repeated, and fails in a way that nobody can tell. */
  function paying({ isCut = true, retentionMs }: { isCut?: boolean; retentionMs?: number } = {}) {
    const state = { calls: 0, isCut }
    const op = operation(
      'pay',
      {
        ...{ reprise: world.other(), input: anything, completer: { graceMs: 0, retryMs: 0 } },
        ...(retentionMs === undefined ? {} : { retentionMs }),
      },
      {
        started: foreignCall({
          repeat: 'never',
          call: async () => {
            state.calls++
            if (state.isCut) throw socketError('ECONNRESET')
            return 'ch_1'
          },
          done: async ({ result }) => respond(201, result),
        }),
      },
    )
    return { op, state }
  }

  async function buried() {
    const { op, state } = paying()
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    return { op, state, letter: await open() }
  }

  it('is kept as long as the operation says when the app settles it', async () => {
    for (const way of ['happened', 'giveUp'] as const) {
      const { op, state, letter } = await buried()
      expect(await deadLetters(world.reprise)[way](letter, answer, DECISION)).toBe(true)
      await world.age(LATER_MS)
      expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'ch_0'])
      expect(state.calls).toBe(1)
      await world.age(KEPT_MS - LATER_MS)
      expect(seen(await op.run(request('k')))).toEqual(['unknown'])
      await deadLetters(world.reprise).resume(await open(), DECISION)
      await world.pool.query('delete from reprise.records')
    }
  })

  it('is kept as long when an operator settles it who knows nothing of the operation', async () => {
    const { op, state, letter } = await buried()
    const admin = createAdmin(world.reprise)
    const settlement = { way: 'happened', ...answer } as const
    expect(await admin.settle(letter, settlement, ORDER)).toMatchObject({ outcome: 'done' })
    await world.age(LATER_MS)
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'ch_0'])
    expect(state.calls).toBe(1)
  })

  it('leaves a request that is to be resumed as long as the operation says', async () => {
    const { op, state, letter } = await buried()
    expect(await deadLetters(world.reprise).resume(letter, DECISION)).toBe(true)
    await world.age(LATER_MS)
    state.isCut = false
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_1'])
    expect(state.calls).toBe(2)
  })

  it('is kept as long as the engine says where that is longer', async () => {
    const { op } = paying({ retentionMs: HOUR_MS })
    await op.run(request('k'))
    await deadLetters(world.reprise).happened(await open(), answer, DECISION)
    await world.age(20 * HOUR_MS)
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'ch_0'])
  })

  it('is kept as long as a later deploy says that put the request before a person', async () => {
    const before = paying({ retentionMs: HOUR_MS })
    const later = paying()
    await before.op.run(request('k'))
    await deadLetters(world.reprise).resume(await open(), DECISION)
    const { completer } = createWorkers(world.reprise, { operations: [later.op] })
    expect(await completer?.runOnce()).toBe(1)
    await deadLetters(world.reprise).happened(await open(), answer, DECISION)
    await world.age(LATER_MS)
    expect(seen(await later.op.run(request('k')))).toEqual(['replayed', 201, 'ch_0'])
  })

  it('is kept as long where a handler was cut off and nobody could tell', async () => {
    const breaks = async () => {
      throw new Error('The process broke.')
    }
    const route = world.other({ afterCrash: async () => 'refuse', retentionMs: KEPT_MS })
    await expect(route.run(WIRE, breaks)).rejects.toThrow('broke')
    expect(await route.run(WIRE, breaks)).toEqual({ outcome: 'unknown' })
    await deadLetters(world.reprise).happened(await open(), answer, DECISION)
    await world.age(LATER_MS)
    expect(seen(await route.run(WIRE, breaks))).toEqual(['replayed', 201, 'ch_0'])
  })

  it('is kept as long as a caller of its own was promised', async () => {
    const retentionMs = (caller: string) => (caller === 'acct' ? KEPT_MS : HOUR_MS)
    const route = world.other({ retentionMs })
    const breaks = async () => {
      throw new Error('The process broke.')
    }
    await expect(route.run(WIRE, breaks)).rejects.toThrow('broke')
    const { completer } = createWorkers(world.reprise, { completer: { unknownGraceMs: 0 } })
    expect(await completer?.runOnce()).toBe(1)
    await deadLetters(world.reprise).happened(await open(), answer, DECISION)
    await world.age(LATER_MS)
    expect(seen(await route.run(WIRE, breaks))).toEqual(['replayed', 201, 'ch_0'])
  })

  it('is kept as long where nobody finished it, whoever found it', async () => {
    const finders = {
      reaper: async () => {
        await createWorkers(world.reprise, { completer: false }).reaper?.runOnce()
      },
      request: async () => {
        const other = operation(
          'make',
          { reprise: world.other(), input: anything },
          { started: phase(async () => respond(200)) },
        )
        await other.run(request('k'))
        await world.pool.query('delete from reprise.records')
      },
    }
    for (const found of Object.values(finders)) {
      const op = operation(
        'make',
        { reprise: world.other(), input: anything },
        {
          started: phase(async (): Promise<ReturnType<typeof respond>> => {
            throw new Error('It is down.')
          }),
        },
      )
      await expect(op.run(request('k'))).rejects.toThrow('down')
      await world.age(KEPT_MS + 1)
      await found()
      await deadLetters(world.reprise).happened(await open(), answer, DECISION)
      await world.age(LATER_MS)
      expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'ch_0'])
      await world.pool.query('delete from reprise.records')
    }
  })

  it('is kept as long where an operator ended the retention of the unfinished request', async () => {
    const { op, state } = paying({ isCut: false })
    state.isCut = true
    await op.run(request('k'))
    await deadLetters(world.reprise).resume(await open(), DECISION)
    const admin = createAdmin(world.reprise)
    const [row] = await admin.findByKey('k')
    const order = { ...ORDER, version: row?.version ?? '', confirm: row?.key.slice(-4) ?? '' }
    expect(await admin.act('expire', row?.id ?? '', order)).toMatchObject({ outcome: 'done' })
    await createWorkers(world.reprise, { completer: false }).reaper?.runOnce()
    await deadLetters(world.reprise).happened(await open(), answer, DECISION)
    await world.age(LATER_MS)
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'ch_0'])
  })
})
