import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { serveCharges } from './api.ts'
import { Gate } from './gate.ts'
import type { RawResponse } from './raw-http.ts'

const LEASE_MS = 30_000
const OTHER = { amount: 200 }

/** Everything but what belongs to one sending, in any order. */
function linesOf({ lines }: RawResponse) {
  const own = /^(date|x-request-id|idempoten|original-request)/i
  return new Set(lines.filter(([name]) => !own.test(name)))
}

describe('a request that is sent', () => {
  it('row 9: for the first time runs once, however many arrive at the same moment', async () => {
    const gate = new Gate()
    const charges = await serveCharges({
      async handle(_, response) {
        await gate.pass()
        response.status(201).json({ id: 'ch' })
      },
    })
    const sent = Array.from({ length: 20 }, () => charges.send({ key: 'k' }))
    await gate.reached()
    const refused = await Promise.all(
      Array.from({ length: 5 }, async () => (await charges.send({ key: 'k' })).status),
    )
    gate.open()

    const statuses = (await Promise.all(sent)).map(({ status }) => status)
    expect(refused).toEqual([409, 409, 409, 409, 409])
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThanOrEqual(1)
    expect(statuses.every((status) => status === 201 || status === 409)).toBe(true)
    expect(charges.runs()).toBe(1)
    expect(await charges.records()).toMatchObject([{ caller: 'acct_1', key: 'k', fence: 1 }])
  })

  it('row 10: again after a success gets the first answer, byte for byte, and has no effect', async () => {
    const charges = await serveCharges({
      handle(request, response) {
        response.set('X-Request-Id', `answer to ${request.get('X-Request-Id')}`)
        response.set('ETag', '"v1"').set('X-Fee', '3').status(201)
        response
          .type('application/vnd.charge+json')
          .send(Buffer.from('{ "id": 1.50, "ü": "\\u00fc" }'))
      },
    })
    const first = await charges.send({ key: 'k', headers: [['X-Request-Id', 'req_1']] })
    const again = await charges.send({ key: 'k', headers: [['X-Request-Id', 'req_2']] })

    expect(again.status).toBe(201)
    expect(again.body).toEqual(first.body)
    expect(linesOf(again)).toEqual(linesOf(first))
    expect(again.header('Date')).toBeDefined()
    expect(first.header('Idempotent-Replayed')).toBeUndefined()
    expect(again.header('Idempotent-Replayed')).toBe('true')
    expect(again.header('Original-Request-Id')).toBe('req_1')
    expect(again.header('X-Request-Id')).toBeUndefined()
    for (const answer of [first, again]) {
      expect(answer.header('Idempotency-Key')).toBe('k')
      expect(Number(answer.header('Idempotency-Expires'))).toBeGreaterThan(86_000)
    }
    expect(charges.runs()).toBe(1)
  })

  it('row 11: with another payload gets 422; the record is untouched and still replays', async () => {
    const charges = await serveCharges()
    await charges.send({ key: 'k' })
    const before = await charges.records()
    const mismatch = await charges.send({ key: 'k', body: OTHER })

    expect(mismatch.status).toBe(422)
    expect(mismatch.json).toMatchObject({ code: 'idempotency-key-reused', retryable: false })
    expect(mismatch.header('Idempotency-Key')).toBe('k')
    expect(await charges.records()).toEqual(before)
    const again = await charges.send({ key: 'k' })
    expect([again.status, again.json]).toEqual([201, { id: 'ch_1' }])
    expect(charges.runs()).toBe(1)
  })

  it('row 12: with another payload while the first runs gets 422, not 409', async () => {
    const gate = new Gate()
    const charges = await serveCharges({
      async handle(_, response) {
        await gate.pass()
        response.json('done')
      },
    })
    const first = charges.send({ key: 'k' })
    await gate.reached()
    expect((await charges.send({ key: 'k', body: OTHER })).status).toBe(422)
    gate.open()
    expect((await first).json).toBe('done')
  })

  it('row 12: with another payload after the lease of the first has lapsed gets 422', async () => {
    const clock = new FakeClock()
    const gate = new Gate()
    const charges = await serveCharges({
      engine: { store: memoryStore({ clock }), leaseMs: LEASE_MS, afterCrash: 'rerun' },
      async handle(_, response) {
        await gate.pass()
        response.json('done')
      },
    })
    const first = charges.send({ key: 'k' })
    await gate.reached()
    clock.advance(LEASE_MS)
    expect((await charges.send({ key: 'k', body: OTHER })).status).toBe(422)
    gate.open()
    await first
    expect(charges.runs()).toBe(1)
  })
})

describe('a duplicate of a running request', () => {
  it('row 13: gets 409 with Retry-After in whole seconds, in any process, and it is not stored', async () => {
    const gate = new Gate()
    const store = memoryStore()
    const charges = await serveCharges({
      engine: { store, leaseMs: LEASE_MS },
      async handle(_, response) {
        await gate.pass()
        response.status(201).json('done')
      },
    })
    const other = await serveCharges({ engine: { store, leaseMs: LEASE_MS } })
    const first = charges.send({ key: 'k' })
    await gate.reached()
    const duplicates = [await charges.send({ key: 'k' }), await other.send({ key: 'k' })]
    gate.open()

    for (const duplicate of duplicates) {
      expect(duplicate.status).toBe(409)
      expect(duplicate.json).toMatchObject({ code: 'idempotency-in-progress', retryable: true })
      expect(duplicate.header('Retry-After')).toMatch(/^[1-9]\d*$/)
      // Not the whole lease: an obedient client would sleep through it.
      expect(Number(duplicate.header('Retry-After'))).toBeLessThan(LEASE_MS / 1000)
    }
    await first
    expect((await charges.send({ key: 'k' })).status).toBe(201)
    expect(charges.runs()).toBe(1)
  })

  it.each([
    { name: 'waitMs', waitMs: 20_000, headers: [] },
    { name: 'Prefer: wait', waitMs: 0, headers: [['Prefer', 'respond-async, wait=10']] as const },
  ])(
    'row 13: waits for the answer with $name, also in another process',
    async ({ waitMs, headers }) => {
      const gate = new Gate()
      const store = memoryStore()
      const handle = async (_: unknown, response: { json(value: unknown): unknown }) => {
        await gate.pass()
        response.json('done')
      }
      const first = await serveCharges({ engine: { store }, waitMs, handle })
      const second = await serveCharges({ engine: { store }, waitMs, handle })
      const leading = first.send({ key: 'k' })
      await gate.reached()
      const waiting = [first, second].map((charges) => charges.send({ key: 'k', headers }))
      // Whoever does not wait has been told so by the time that a later request is answered.
      for (const charges of [first, second]) await charges.send({ key: 'k', body: OTHER })
      gate.open()

      expect((await leading).json).toBe('done')
      for (const answer of await Promise.all(waiting)) {
        expect(answer.json).toBe('done')
        expect(answer.header('Idempotent-Replayed')).toBe('true')
      }
      expect(first.runs() + second.runs()).toBe(1)
    },
  )

  it('row 13: waits no longer than the bound, then gets 409; the first is left alone', async () => {
    const gate = new Gate()
    const charges = await serveCharges({
      preferWaitMsMax: 1,
      async handle(_, response) {
        await gate.pass()
        response.json('done')
      },
    })
    const first = charges.send({ key: 'k' })
    await gate.reached()
    const waited = await charges.send({ key: 'k', headers: [['Prefer', 'wait=600']] })
    expect(waited.status).toBe(409)
    gate.open()
    expect((await first).json).toBe('done')
  })
})
