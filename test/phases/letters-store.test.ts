import { describe, expect, it } from 'vitest'
import { foreignCall, operation, phase, respond } from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, deed, request, seen, socketError, usePhases } from './phases-world.ts'

describe('a dead letter', () => {
  const world = usePhases()

  /** An operation whose call must not be repeated, and fails in a way that nobody can tell. */
  function pay() {
    const state = { calls: 0, isCut: true }
    const completer = { graceMs: 0, retryMs: 0 }
    const op = operation(
      'pay',
      { reprise: world.other(), input: anything, completer },
      {
        started: foreignCall({
          repeat: 'never',
          call: async () => {
            state.calls++
            if (state.isCut) throw socketError('ECONNRESET')
            return 'ch_1'
          },
          done: async ({ tx, result }) => {
            await deed(tx, `paid ${result}`)
            return respond(201, result)
          },
        }),
      },
    )
    return { op, state }
  }

  /** One of them, before a person. */
  async function buried() {
    const { op, state } = pay()
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    const [letter] = await world.letters()
    expect(letter).toMatchObject({ cause: 'outcome_unknown', settledAt: null, settlement: null })
    state.isCut = false
    const workers = createWorkers(world.reprise, { operations: [op] })
    return { op, state, letter, completer: workers.completer }
  }

  it('it happened: whoever asks again gets that answer', async () => {
    const { op, state, letter, completer } = await buried()
    expect(await world.settle(letter, 'happened', { status: 201, body: 'ch_0' })).toBe(true)
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'ch_0'])
    expect(await completer?.runOnce()).toBe(0)
    expect(state.calls).toBe(1)
    expect(await world.deeds()).toEqual([])
  })

  it('give up: whoever asks again gets that error', async () => {
    const { op, letter, state } = await buried()
    expect(await world.settle(letter, 'give_up', { status: 410, body: 'gone' })).toBe(true)
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 410, 'gone'])
    expect(state.calls).toBe(1)
  })

  it('it did not happen: the completer takes it up where it stopped', async () => {
    const { op, letter, completer, state } = await buried()
    expect(await world.settle(letter, 'resume')).toBe(true)
    expect(await completer?.runOnce()).toBe(1)
    expect(await world.deeds()).toEqual(['paid ch_1'])
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'ch_1'])
    expect(state.calls).toBe(2)
    expect(await world.letters()).toHaveLength(1)
  })

  it('it did not happen: the client may be first', async () => {
    const { op, letter } = await buried()
    await world.settle(letter, 'resume')
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'ch_1'])
  })

  it('it did not happen, and the next time nobody can tell: another letter', async () => {
    const { op, letter, state } = await buried()
    await world.settle(letter, 'resume')
    state.isCut = true
    expect(seen(await op.run(request('k')))).toEqual(['unknown'])
    expect(await world.work.letters.list({ limit: 9, settled: false })).toHaveLength(1)
    expect(await world.letters()).toHaveLength(2)
  })

  it('is settled once', async () => {
    const { op, letter } = await buried()
    const ways = [
      world.settle(letter, 'happened', { status: 201, body: 'first' }),
      world.settle(letter, 'give_up', { status: 410, body: 'second' }),
    ]
    const settled = await Promise.all(ways)
    expect(settled.filter(Boolean)).toHaveLength(1)
    expect(await world.settle(letter, 'resume')).toBe(false)
    const [outcome, status] = seen(await op.run(request('k')))
    expect([outcome, status]).toEqual(['replayed', settled[0] ? 201 : 410])
    const found = await world.work.letters.find(letter?.letter ?? '')
    expect(found?.settlement).toEqual({
      ...{ way: settled[0] ? 'happened' : 'give_up', author: 'ada', note: 'Looked at the ledger.' },
    })
  })

  it('leaves who settled it how and why where nobody can change it', async () => {
    const { letter } = await buried()
    await world.settle(letter, 'give_up', { status: 410, body: '' })
    const subject = `dead letter ${letter?.letter}`
    const audit = `select action, author, note from reprise.audit where subject = '${subject}'`
    const entry = { action: 'settle give_up', author: 'ada', note: 'Looked at the ledger.' }
    expect((await world.pool.query(audit)).rows).toEqual([entry])
    for (const change of [
      `update reprise.audit set author = 'mallory'`,
      `delete from reprise.audit`,
      `truncate reprise.audit`,
    ]) {
      await expect(world.pool.query(change)).rejects.toThrow('stays as it is')
    }
    expect((await world.pool.query(audit)).rows).toEqual([entry])
  })

  it('wakes who waits for the answer', async () => {
    const { letter, op } = await buried()
    await world.settle(letter, 'happened', { status: 200, body: 'yes' })
    expect(seen(await op.run({ ...request('k'), waitMs: 1000 }))).toEqual(['replayed', 200, 'yes'])
  })
})

describe('a plain handler whose process died', () => {
  const world = usePhases()
  const plain = { caller: 'acct', operation: 'POST /charges', key: 'k', fingerprints: ['f'] }

  async function die(): Promise<void> {
    let enter: () => void = () => {}
    const entered = new Promise<void>((resolve) => {
      enter = resolve
    })
    void world.other().run(plain, async () => {
      enter()
      return new Promise(() => {})
    })
    await entered
    await world.lapse()
  }

  it('is put before a person once, and what they say is the answer', async () => {
    await die()
    const { completer } = createWorkers(world.reprise, { completer: { unknownGraceMs: 0 } })
    expect(await completer?.runOnce()).toBe(1)
    expect(await completer?.runOnce()).toBe(0)
    const handler = async () => ({ status: 200, headers: [], body: new Uint8Array() })
    expect(seen(await world.reprise.run(plain, handler))).toEqual(['unknown'])
    const [letter] = await world.letters()
    expect(letter).toMatchObject({ cause: 'outcome_unknown', point: null, key: 'k' })
    await world.settle(letter, 'happened', { status: 201, body: 'it did' })
    expect(seen(await world.reprise.run(plain, handler))).toEqual(['replayed', 201, 'it did'])
  })

  it('that did not happen frees the key', async () => {
    await die()
    await createWorkers(world.reprise, { completer: { unknownGraceMs: 0 } }).completer?.runOnce()
    const [letter] = await world.letters()
    await world.settle(letter, 'resume')
    const handler = async () => ({
      status: 200,
      headers: [],
      body: new TextEncoder().encode('ran'),
    })
    expect(seen(await world.reprise.run(plain, handler))).toEqual(['executed', 200, 'ran'])
  })
})

describe('an operation that gives up before its call', () => {
  const world = usePhases()

  it('responds for good from the first phase', async () => {
    const op = operation(
      'refuse',
      { reprise: world.reprise, input: anything },
      {
        started: phase(async () => respond(422, { error: 'no' }, { headers: { 'x-why': 'so' } })),
      },
    )
    const first = await op.run(request('k'))
    expect(first).toMatchObject({
      ...{ outcome: 'executed', fate: 'stored' },
      response: {
        status: 422,
        headers: [
          ['content-type', 'application/json'],
          ['x-why', 'so'],
        ],
      },
    })
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 422, '{"error":"no"}'])
  })
})
