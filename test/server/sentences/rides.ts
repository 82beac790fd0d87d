/**
 * What the design says of the rides API.
 *
 * @module
 */

import { describe, expect, test, vi } from 'vitest'
import { PATIENCE } from '../reference-server.ts'
import { call, fresh, insist, isReplayed, type Sent, type Server, whileRunning } from './world.ts'

const PLACES = { origin_lat: 1.5, origin_lon: 2.5, target_lat: 3.5, target_lon: 4.5 }

/** Names the tests. */
export function describeRides(server: Server): void {
  const auth = 'user@example.com'
  const book = (sent: Sent) => call(server, 'POST /rides', { auth, body: PLACES, ...sent })
  const provider = (mode: string) => call(server, 'PUT /demo/provider', { body: { mode } })

  describe('rides (seed 001), on Fastify', () => {
    test('Authorization: user@example.com accepts: 201 {message}, one charge, a ride to read', async () => {
      const before = await server().ledger()
      const { status, body, headers } = await book({ key: fresh() })
      expect([status, body]).toEqual([201, { message: expect.any(String) }])
      const { charges, rides, audit_records } = await server().ledger()
      expect(charges.length - before.charges.length).toBe(1)
      expect([rides, audit_records]).toEqual([before.rides + 1, before.audit_records + 1])
      const ride = await call(server, `GET ${headers.get('location')}`, { auth })
      expect(ride.body).toMatchObject({ ...PLACES, stripe_charge_id: charges.at(-1)?.id })
    })

    test('user-bad-source@example.com: 402 declined, {error}, the same again', async () => {
      const sent = { auth: 'user-bad-source@example.com', key: fresh() }
      const first = await book(sent)
      expect([first.status, first.body]).toEqual([402, { error: expect.any(String) }])
      const again = await book(sent)
      expect([again.status, again.text, isReplayed(again)]).toEqual([402, first.text, true])
    })

    test.each(['', 'stranger@example.com'])('other or none: 401: %j', async (as) => {
      const { status, body } = await book({ auth: as, key: fresh() })
      expect([status, body]).toEqual([401, { error: expect.any(String) }])
    })

    test('the body is form-encoded or JSON, and says the same either way', async () => {
      const key = fresh()
      const form = new URLSearchParams(Object.entries(PLACES).map(([k, v]) => [k, String(v)]))
      const headers = { 'Content-Type': 'application/x-www-form-urlencoded' }
      const { status, body } = await book({ key, body: String(form), headers })
      expect([status, body]).toEqual([201, { message: expect.any(String) }])
    })

    test.each(Object.keys(PLACES))('invalid or missing parameter 422: %s', async (name) => {
      const key = fresh()
      for (const value of [undefined, 'north', 181]) {
        const { status, body } = await book({ key, body: { ...PLACES, [name]: value } })
        expect([status, body]).toEqual([422, { error: expect.stringContaining(name) }])
      }
      expect((await book({ key })).status).toBe(201)
    })

    test('503 when the provider is down: retryable, not stored as final', async () => {
      const key = fresh()
      const { charges } = await server().ledger()
      await provider('down')
      const down = await book({ key })
      await provider('fine')
      expect([down.status, down.body]).toEqual([503, { error: expect.any(String) }])
      expect(Number(down.headers.get('retry-after'))).toBeGreaterThan(0)
      await insist(() => book({ key }), 201)
      expect((await server().ledger()).charges).toHaveLength(charges.length + 1)
    })

    test.each([undefined, 'a'.repeat(19), 'a'.repeat(101)])(
      'key missing, under 20 characters or over 100: 400: %j',
      async (key) => {
        const { status, body } = await book(key === undefined ? {} : { key })
        expect([status, body]).toEqual([400, { error: expect.any(String) }])
      },
    )

    test('replay as first; mismatch 409; in progress 409', async () => {
      const key = fresh()
      const first = await book({ key })
      const again = await book({ key })
      expect([again.status, again.text, isReplayed(again)]).toEqual([201, first.text, true])
      const other = await book({ key, body: { ...PLACES, target_lat: 9 } })
      expect([other.status, other.body]).toEqual([409, { error: expect.any(String) }])
      const { second } = await whileRunning((same, fault) => book({ key: same, fault }))
      expect(second.body).toEqual({ error: expect.any(String) })
    })

    test('the receipt is a staged job, sent over SMTP', async () => {
      const { receipts } = await server().ledger()
      expect((await book({ key: fresh() })).status).toBe(201)
      await vi.waitFor(async () => {
        const ledger = await server().ledger()
        expect(ledger.receipts.length).toBeGreaterThan(receipts.length)
        expect(ledger.staged_jobs).toBe(0)
        for (const { message_id } of ledger.receipts) expect(message_id).toMatch(/^<[\da-f-]{36}@/)
      }, PATIENCE)
    })

    test('raise_error=true fails the first attempt with 500 after ride_created; it is not part of the fingerprint', async () => {
      const key = fresh()
      const before = await server().ledger()
      const failed = await book({ key, body: { ...PLACES, raise_error: true } })
      expect([failed.status, failed.body]).toEqual([500, { error: expect.any(String) }])
      expect((await server().ledger()).rides).toBe(before.rides + 1)
      await insist(() => book({ key }), 201)
      const { rides, charges } = await server().ledger()
      expect([rides, charges.length]).toEqual([before.rides + 1, before.charges.length + 1])
    })
  })
}
