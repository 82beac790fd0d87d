/**
 * What the design says of the charges API.
 *
 * @module
 */

import { describe, expect, test } from 'vitest'
import { call, fresh, isReplayed, type Sent, type Server, whileRunning } from './world.ts'

/** Names the tests. */
export function describeCharges(server: Server): void {
  const auth = `Bearer user_${fresh()}`
  const money = { amount: 2000, currency: 'usd' }
  const charge = (sent: Sent) => call(server, 'POST /v1/charges', { auth, body: money, ...sent })
  const failure = { error: { type: 'idempotency_error', message: expect.any(String) } }

  describe('charges (seed 003), on Hono', () => {
    test('Authorization: Bearer user_…; 201 {id:"ch_…", amount, currency, status:"succeeded"}, to be read again', async () => {
      const { status, body } = await charge({ key: fresh() })
      const members = { ...money, id: expect.stringMatching(/^ch_/), status: 'succeeded' }
      expect([status, body]).toEqual([201, members])
      expect((await call(server, `GET /v1/charges/${body.id}`, { auth })).body).toEqual(body)
      expect((await charge({ key: fresh(), auth: 'Bearer someone' })).status).toBe(401)
    })

    test.each([0, -1, 1.5, '20', undefined])(
      'amount a positive integer, otherwise 400 or 422 and the key stays free: %j',
      async (amount) => {
        const key = fresh()
        expect([400, 422]).toContain((await charge({ key, body: { ...money, amount } })).status)
        expect((await charge({ key })).status).toBe(201)
      },
    )

    test('unknown members are kept out of the charge but count for the fingerprint', async () => {
      const key = fresh()
      const { body } = await charge({ key, body: { ...money, customer_id: 'c', note: 'lunch' } })
      expect(body).toMatchObject({ customer_id: 'c' })
      expect(body).not.toHaveProperty('note')
      const other = await charge({ key, body: { ...money, customer_id: 'c', note: 'dinner' } })
      expect([other.status, other.body]).toEqual([409, failure])
    })

    test('every response echoes Idempotency-Key', async () => {
      const key = fresh()
      const answers = [
        await charge({ key }),
        await charge({ key }),
        await charge({ key, body: { ...money, amount: 1 } }),
        await charge({ key: fresh(), auth: '' }),
        await call(server, 'GET /v1/charges/none', { auth, key }),
      ]
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 409, 401, 404])
      expect(answers.filter(({ headers }) => !headers.has('idempotency-key'))).toEqual([])
      expect([isReplayed(answers[0] ?? failed()), answers[1]?.text]).toEqual([
        false,
        answers[0]?.text,
      ])
    })

    test.each(['fail-before', 'fail-after'])(
      'an error while processing frees the key: %s',
      async (fault) => {
        const key = fresh()
        expect((await charge({ key, fault })).status).toBe(500)
        expect((await charge({ key, body: { ...money, amount: 1 } })).status).toBe(201)
      },
    )

    test('the error body is {error:{type:"idempotency_error", message}}: missing 400, in progress 409 + Retry-After', async () => {
      const missing = await charge({})
      expect([missing.status, missing.body]).toEqual([400, failure])
      const { second } = await whileRunning((key, fault) => charge({ key, fault }))
      expect(second.body).toEqual(failure)
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    })

    test('DELETE /orders/:id is 204 however often; PUT replaces', async () => {
      const path = `/orders/${fresh()}`
      const put = (body: object) => call(server, `PUT ${path}`, { auth, body })
      expect((await put({ a: 1, b: 2 })).status).toBeLessThan(300)
      await put({ b: 3 })
      const { body } = await call(server, `GET ${path}`, { auth })
      expect(JSON.stringify(body)).toContain('"b":3')
      expect(JSON.stringify(body)).not.toContain('"a":1')
      for (let times = 0; times < 3; times++) {
        expect((await call(server, `DELETE ${path}`, { auth })).status).toBe(204)
      }
      expect((await call(server, `GET ${path}`, { auth })).status).toBe(404)
    })
  })
}

function failed(): never {
  throw new Error('There is no answer.')
}
