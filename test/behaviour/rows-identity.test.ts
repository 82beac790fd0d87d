import express from 'express'
import { describe, expect, it } from 'vitest'
import { stripe } from '../../src/core/dialects/stripe.ts'
import { keyAge } from '../../src/engine/key-age.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { FakeClock } from '../../src/testing/fake-clock.ts'
import { type RouteOptions, serveCharges } from './api.ts'
import type { RawRequest } from './raw-http.ts'

const DAY_MS = 86_400_000

/** Sends one request, then another under the same key; says how the second was taken. */
async function compare(first: RawRequest, second: RawRequest, options: RouteOptions = {}) {
  const charges = await serveCharges(options)
  await charges.send({ key: 'k', ...first })
  const { status } = await charges.send({ key: 'k', ...second })
  if (status !== 201) return status
  return charges.runs() === 1 ? 'same' : 'independent'
}

/** A UUIDv7 made at an instant. */
function uuidv7(ms: number): string {
  const hex = ms.toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-0123456789ab`
}

describe('the same key', () => {
  it('row 28: is a new request once its retention is over', async () => {
    const clock = new FakeClock()
    const charges = await serveCharges({
      engine: { store: memoryStore({ clock }), clock, retentionMs: DAY_MS },
    })
    await charges.send({ key: 'k' })
    clock.advance(DAY_MS - 1)
    expect((await charges.send({ key: 'k' })).json).toEqual({ id: 'ch_1' })
    clock.advance(1)
    expect((await charges.send({ key: 'k' })).json).toEqual({ id: 'ch_2' })
  })

  it('row 28: is refused when it tells its age and is too old, instead of running again', async () => {
    const clock = new FakeClock(DAY_MS)
    const charges = await serveCharges({
      ...{ engine: { store: memoryStore({ clock }), clock, retentionMs: DAY_MS } },
      keyAge: keyAge({ ageMsMax: DAY_MS - 60_000, clock }),
    })
    const key = uuidv7(clock.unix())
    expect((await charges.send({ key })).status).toBe(201)
    clock.advance(DAY_MS)
    const late = await charges.send({ key })
    expect([late.status, late.json]).toMatchObject([400, { code: 'idempotency-key-expired' }])
    expect(charges.runs()).toBe(1)
    expect((await charges.send({ key: uuidv7(clock.unix()) })).status).toBe(201)
  })

  it('row 29: of another caller is another request, and leaks nothing', async () => {
    const charges = await serveCharges()
    await charges.send({ key: 'k', headers: [['X-Account', 'acct_1']] })
    const other = await charges.send({
      ...{ key: 'k', headers: [['X-Account', 'acct_2']], body: { amount: 999 } },
    })
    expect(other.json).toEqual({ id: 'ch_2' })
    expect(other.header('Idempotent-Replayed')).toBeUndefined()
  })

  it('row 29: never goes without a caller: at start, and for each request', async () => {
    // As in a program without types, which could leave it out.
    const none = { caller: undefined } as unknown as RouteOptions
    await expect(serveCharges(none)).rejects.toThrow('caller is missing')

    const charges = await serveCharges({ caller: () => '' })
    const refused = await charges.send({ key: 'k' })
    expect(refused.status).toBe(500)
    expect(charges.runs()).toBe(0)
  })

  it('row 30: on another route or with another method is another request', async () => {
    expect(await compare({}, { path: '/refunds' })).toBe('independent')
    expect(await compare({}, { method: 'PATCH' })).toBe('independent')
  })

  it('row 30: with other path parameters or another query on the same route gets 422', async () => {
    expect(await compare({ path: '/charges/1' }, { path: '/charges/2' })).toBe(422)
    expect(await compare({ path: '/charges?a=1' }, { path: '/charges?a=2' })).toBe(422)
    expect(await compare({ path: '/charges?a=1&b=2' }, { path: '/charges?b=2&a=1' })).toBe('same')
  })

  it('row 30: counts for the whole account in the dialect of Stripe', async () => {
    expect(await compare({}, { path: '/refunds' }, { dialect: stripe })).toBe(400)
    expect(await compare({}, {}, { dialect: stripe })).toBe('same')
  })

  it('row 31: with another content type or API version gets 422', async () => {
    const version: RouteOptions = { version: (request) => request.get('Api-Version') }
    const headers = (value: string) => ({ headers: [['Api-Version', value]] as const })
    const body = 'a=1'
    expect(await compare({ body, type: 'text/plain' }, { body, type: 'text/csv' })).toBe(422)
    expect(await compare(headers('1'), headers('2'), version)).toBe(422)
    expect(await compare(headers('1'), headers('1'), version)).toBe('same')
  })

  it('row 31: with other Accept, credentials, traces or charset is the same request', async () => {
    const headers = (value: string) =>
      ['Accept', 'Authorization', 'Traceparent', 'User-Agent', 'Cookie'].map(
        (name) => [name, value] as const,
      )
    expect(await compare({ headers: headers('a') }, { headers: headers('b') })).toBe('same')
    expect(await compare({}, { type: 'application/json; charset=utf-8' })).toBe('same')
  })

  it.each(['without a parser', 'behind express.json'])(
    'row 32: with the same JSON in another order or spacing is the same request, %s',
    async (where) => {
      const before = where === 'behind express.json' ? [express.json()] : []
      const charges = await serveCharges({ before })
      await charges.send({ key: 'k', body: '{"a":1,"b":{"c":[1,2],"d":"\\u00fc"}}' })
      const same = await charges.send({ key: 'k', body: '{ "b": {"d":"ü", "c":[1, 2]}, "a":1 }' })
      expect(same.header('Idempotent-Replayed')).toBe('true')
      const other = await charges.send({ key: 'k', body: '{"a":1,"b":{"c":[2,1],"d":"ü"}}' })
      expect(other.status).toBe(422)
    },
  )

  it('row 32: with other bytes that are not JSON is another request', async () => {
    const type = 'text/plain'
    expect(await compare({ type, body: '{"a":1}' }, { type, body: '{ "a":1}' })).toBe(422)
    expect(await compare({ type, body: 'x' }, { type, body: 'x' })).toBe('same')
  })

  it('row 33: of a caller who lost the permission gets no old answer', async () => {
    let may = true
    const charges = await serveCharges({
      before: [(_, response, next) => (may ? next() : void response.sendStatus(403))],
    })
    await charges.send({ key: 'k' })
    may = false
    const refused = await charges.send({ key: 'k' })
    expect([refused.status, refused.header('Idempotent-Replayed')]).toEqual([403, undefined])
  })

  it('row 33: is replayed only if authorizeReplay agrees; it is not asked about the first', async () => {
    const asked: boolean[] = []
    const charges = await serveCharges({
      authorizeReplay: async (request) => {
        asked.push(request.get('X-Role') === 'owner')
        return request.get('X-Role') === 'owner'
      },
    })
    await charges.send({ key: 'k' })
    expect(asked).toEqual([])
    const refused = await charges.send({ key: 'k' })
    expect([refused.status, refused.json]).toMatchObject([
      403,
      { code: 'idempotency-replay-forbidden' },
    ])
    const allowed = await charges.send({ key: 'k', headers: [['X-Role', 'owner']] })
    expect([allowed.status, allowed.json]).toEqual([201, { id: 'ch_1' }])
  })
})
