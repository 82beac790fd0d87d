/** Letters, and what happens to their keys meanwhile. */

import { describe, expect, it } from 'vitest'
import { deadLetters, operation, phase, respond, retryLater } from '../../src/phases/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { anything, request, seen, usePhases } from './phases-world.ts'

const HOUR_MS = 3_600_000
const decision = { author: 'ada', note: 'Looked at the ledger.' }

describe('a dead letter', () => {
  const world = usePhases()

  function making() {
    const state = { isDown: true }
    const op = operation(
      'make',
      { reprise: world.other(), input: anything, retentionMs: HOUR_MS },
      { started: phase(async () => (state.isDown ? retryLater() : respond(201, 'made'))) },
    )
    return { op, state }
  }

  async function abandoned(op: ReturnType<typeof making>['op']) {
    await op.run(request('k'))
    await world.age(HOUR_MS + 1)
    await createWorkers(world.reprise, { operations: [op] }).reaper?.runOnce()
    const [letter] = await world.letters()
    return letter?.letter ?? ''
  }

  it('is not resumed over what a later request does with the key', async () => {
    const { op, state } = making()
    const letter = await abandoned(op)
    await op.run(request('k'))
    const letters = deadLetters(world.reprise)
    expect(await letters.resume(letter, decision)).toBe(false)
    expect((await letters.find(letter))?.settlement).toBeNull()
    state.isDown = false
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'made'])
    expect(await letters.resume(letter, decision)).toBe(false)
    expect(await letters.giveUp(letter, { status: 409 }, decision)).toBe(true)
    expect(seen(await op.run(request('k')))).toEqual(['replayed', 201, 'made'])
  })

  it('is resumed once what a later request did with the key is past its retention', async () => {
    const { op, state } = making()
    const letter = await abandoned(op)
    state.isDown = false
    await op.run(request('k'))
    await world.age(HOUR_MS + 1)
    expect(await deadLetters(world.reprise).resume(letter, decision)).toBe(true)
    expect(seen(await op.run(request('k')))).toEqual(['resumed', 201, 'made'])
  })

  it('keeps the resource that the answer of a person names', async () => {
    const { op } = making()
    const letter = await abandoned(op)
    const resource = { type: 'ride', id: 'r1' }
    const answer = { status: 201, resource }
    expect(await deadLetters(world.reprise).happened(letter, answer, decision)).toBe(true)
    const { records } = await world.store.list({ limit: 1 })
    expect(records[0]?.record).toMatchObject({ resource })
  })

  it('keeps what was asked for until it is settled and its record past its retention', async () => {
    const { op } = making()
    await op.run(request('k'))
    const { reaper } = createWorkers(world.reprise, { operations: [op] })
    const letters = deadLetters(world.reprise)
    const reaped = async (letter: string) => {
      await reaper?.runOnce()
      return letters.find(letter)
    }
    await world.age(HOUR_MS + 1)
    await reaper?.runOnce()
    const [{ letter } = { letter: '' }] = await world.letters()
    await world.age(HOUR_MS + 1)
    expect(await reaped(letter)).toMatchObject({ input: request('k').input, settlement: null })

    const answer = { status: 201, body: 'made' }
    expect(await letters.happened(letter, answer, decision)).toBe(true)
    expect(await reaped(letter)).toMatchObject({ input: request('k').input })
    await world.age(world.reprise.options.retentionMs('acct') + 1)
    const settlement = { way: 'happened', ...decision }
    const swept = await reaped(letter)
    expect(swept).toMatchObject({ key: 'k', caller: 'acct', settlement })
    expect([swept?.input, swept?.state]).toEqual([undefined, undefined])
    const audit = await world.pool.query(
      `select action, author, note from reprise.audit where subject = 'dead letter ' || $1`,
      [letter],
    )
    expect(audit.rows).toEqual([{ action: 'settle happened', ...decision }])
  })

  async function lapsed(owner: string) {
    const origin = { requestId: null, ip: null, userAgent: null }
    const claimed = await world.store.claim({
      ...{ id: 'late', caller: 'acct', operation: 'POST /', key: 'k', fingerprint: 'f' },
      ...{ fingerprintsAccepted: ['f'], owner, leaseMs: 1000, retentionMs: HOUR_MS, origin },
      ...{ input: null, recoveryPoint: null, takesUnknown: false },
    })
    if (!('claim' in claimed)) throw new Error('It was not granted.')
    await world.age(2000)
    return claimed.claim
  }

  const buryUnknown = () =>
    world.work.letters.buryUnknown({ limit: 10, graceMs: 0, retentionMs: HOUR_MS })

  it('of a run that finishes after all is withdrawn, and that of no earlier record', async () => {
    await lapsed('first')
    await buryUnknown()
    await world.age(HOUR_MS + 1)
    const claim = await lapsed('second')
    expect(await buryUnknown()).toBe(1)
    expect(await world.work.letters.list({ limit: 9, settled: false })).toHaveLength(2)

    const response = { status: 201, sealed: Uint8Array.of(1) }
    const finish = { response, resource: null, retentionMs: HOUR_MS }
    expect(await world.store.finish(claim, finish)).toBe(true)
    expect(await world.letters()).toMatchObject([
      { settlement: { way: 'withdrawn', note: 'It finished after all.' } },
      { settlement: null },
    ])
  })
})
