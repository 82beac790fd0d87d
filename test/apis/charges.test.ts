/** The charges API (Hono), sentence by sentence. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { chargesSchema, createCharges } from '../../examples/charges/index.ts'
import { type Api, freshKey, marksOf, overlapping, serveApi } from './api.ts'

let api: Api
beforeAll(async () => {
  api = await serveApi(createCharges, chargesSchema)
})
afterAll(() => api.close())

let users = 0
/** A user of its own. */
const freshUser = () => `Bearer user_${++users}`

interface Sent {
  readonly user?: string
  readonly key?: string | undefined
  readonly method?: string
  readonly body?: unknown
}

function send(path: string, { user = 'Bearer user_any', key, method = 'POST', body }: Sent = {}) {
  const headers: Record<string, string> = { authorization: user }
  if (key !== undefined) headers['idempotency-key'] = key
  if (typeof body === 'string') headers['content-type'] = 'application/json'
  return api.send(path, { method, headers, body })
}

const ASKED = { amount: 2000, currency: 'usd' }
const charge = (sent: Sent = {}) => send('/v1/charges', { body: ASKED, ...sent })

async function charged(user: string): Promise<number> {
  const sql = 'select count(*)::int as n from charges where user_id = $1'
  const { rows } = await api.pool.query<{ n: number }>(sql, [user.replace('Bearer ', '')])
  return rows[0]?.n ?? 0
}

describe('a charge', () => {
  test('is made with 201 and has the members of the contract', async () => {
    const key = freshKey()
    const first = await charge({ key })

    expect(first.status).toBe(201)
    expect(first.body).toEqual({
      id: expect.stringMatching(/^ch_\w+$/),
      ...{ amount: 2000, currency: 'usd', status: 'succeeded' },
    })
    expect(marksOf(first)).toEqual({ 'idempotency-key': key })
  })

  test('keeps its customer, and no member that it does not know', async () => {
    const body = { ...ASKED, customer_id: 'cust_abc123', note: 'for lunch' }
    const first = await charge({ key: freshKey(), body })

    expect(first.body).toEqual({
      ...{ id: first.id, status: 'succeeded', ...ASKED, customer_id: 'cust_abc123' },
    })
  })

  test('is read by its user alone', async () => {
    const user = freshUser()
    const first = await charge({ user, key: freshKey() })
    const path = `/v1/charges/${first.id}`

    const read = await send(path, { user, method: 'GET' })
    expect([read.status, read.body]).toEqual([200, first.body])
    const stranger = await send(path, { user: freshUser(), method: 'GET' })
    expect(stranger.status).toBe(404)
    expect(stranger.body).toMatchObject({ error: { type: 'invalid_request_error' } })
  })
})

describe('a key', () => {
  test('has one effect; the replay has the same status and body and echoes the key', async () => {
    const [user, key] = [freshUser(), 'f47ac10b-58cc-4372-a567-0e02b2c3d479']
    const first = await charge({ user, key })
    const again = await charge({ user, key })

    expect([again.status, again.text]).toEqual([201, first.text])
    expect(marksOf(again)).toEqual({ 'idempotency-key': key, 'idempotent-replayed': 'true' })
    expect(await charged(user)).toBe(1)
  })

  test('with another amount is 409 idempotency_error', async () => {
    const [user, key] = [freshUser(), freshKey()]
    const first = await charge({ user, key })
    const other = await charge({ user, key, body: { ...ASKED, amount: 9999 } })

    expect(other.status).toBe(409)
    expect(other.body).toEqual({
      error: {
        type: 'idempotency_error',
        message: expect.stringContaining('already used for another request'),
      },
    })
    expect(marksOf(other)).toEqual({ 'idempotency-key': key, 'idempotency-stored': 'false' })
    expect((await charge({ user, key })).text).toBe(first.text)
    expect(await charged(user)).toBe(1)
  })

  test('with another unknown member is 409 as well', async () => {
    const [user, key] = [freshUser(), freshKey()]
    await charge({ user, key, body: { ...ASKED, note: 'a' } })

    expect((await charge({ user, key, body: { ...ASKED, note: 'b' } })).status).toBe(409)
    expect((await charge({ user, key })).status).toBe(409)
    expect((await charge({ user, key, body: { note: 'a', ...ASKED } })).status).toBe(201)
    expect(await charged(user)).toBe(1)
  })

  test('that is running is 409 with Retry-After', async () => {
    const [user, key] = [freshUser(), freshKey()]
    const [second, first] = await overlapping(api, () => charge({ user, key }))

    expect(first.status).toBe(201)
    expect(second.status).toBe(409)
    expect(second.body).toEqual({
      error: { type: 'idempotency_error', message: expect.stringContaining('in progress') },
    })
    expect(second.headers.get('idempotency-key')).toBe(key)
    expect(second.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(await charged(user)).toBe(1)
  })

  test('sent ten times at once has one effect', async () => {
    const [user, key] = [freshUser(), freshKey()]
    const answers = await Promise.all(Array.from({ length: 10 }, () => charge({ user, key })))

    const made = answers.filter(({ status }) => status === 201)
    expect(new Set(made.map(({ id }) => id)).size).toBe(1)
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
    expect(await charged(user)).toBe(1)
  })

  test('counts for one user', async () => {
    const key = freshKey()
    const [first, second] = [
      await charge({ user: freshUser(), key }),
      await charge({ user: freshUser(), key }),
    ]

    expect([first.status, second.status]).toEqual([201, 201])
    expect(second.id).not.toBe(first.id)
  })

  test('that is missing is 400', async () => {
    const user = freshUser()
    const refused = await charge({ user })

    expect(refused.status).toBe(400)
    expect(refused.body).toEqual({
      error: { type: 'idempotency_error', message: expect.stringContaining('is missing') },
    })
    expect(await charged(user)).toBe(0)
  })

  test('of 256 characters is 400, of 255 it is taken', async () => {
    const refused = await charge({ key: 'k'.repeat(256) })
    expect(refused.status).toBe(400)
    expect(refused.body).toMatchObject({ error: { type: 'idempotency_error' } })
    expect((await charge({ user: freshUser(), key: 'k'.repeat(255) })).status).toBe(201)
  })

  test.each(['before', 'after'] as const)('is free after an error %s the effect', async (when) => {
    const [user, key] = [freshUser(), freshKey()]
    api.faults.failNext(when)
    const failed = await charge({ user, key })
    expect(failed.status).toBe(500)
    expect(String(api.reported.at(-1))).toContain(`fail-${when}`)
    expect(failed.body).toEqual({
      error: { type: 'api_error', message: expect.stringContaining('Send the same request again') },
    })
    expect(failed.headers.get('idempotency-key')).toBe(key)
    expect(await charged(user)).toBe(0)

    // Another request may have it now, too.
    const again = await charge({ user, key, body: { ...ASKED, amount: 1 } })
    expect([again.status, again.body['amount']]).toEqual([201, 1])
    expect(await charged(user)).toBe(1)
  })
})

describe('a request that can not be taken on', () => {
  test.each([
    ['no amount', { currency: 'usd' }],
    ['no money', { ...ASKED, amount: 0 }],
    ['less than no money', { ...ASKED, amount: -5 }],
    ['half a cent', { ...ASKED, amount: 0.5 }],
    ['an amount in text', { ...ASKED, amount: '2000' }],
    ['an amount that no double can count', '{"amount":9007199254740993,"currency":"usd"}'],
    ['no currency', { amount: 1 }],
    ['no such currency', { amount: 1, currency: 'dollars' }],
    ['a customer without a name', { ...ASKED, customer_id: '' }],
    ['a list', []],
    ['nothing', ''],
    ['half a document', '{"amount":'],
  ])('with %s is 400, echoes the key and leaves it free', async (_, body) => {
    const [user, key] = [freshUser(), freshKey()]
    const refused = await charge({ user, key, body })
    const corrected = await charge({ user, key })

    expect(refused.status).toBe(400)
    expect(refused.body).toEqual({
      error: { type: 'invalid_request_error', message: expect.any(String) },
    })
    expect(refused.headers.get('idempotency-key')).toBe(key)
    expect(corrected.status).toBe(201)
    expect(await charged(user)).toBe(1)
  })

  test.each(['', 'Bearer someone', 'user_1'])('as %j is 401', async (user) => {
    const key = freshKey()
    const refused = await charge({ user, key })
    expect(refused.status).toBe(401)
    expect(refused.body).toMatchObject({ error: { type: 'authentication_error' } })
    expect(refused.headers.get('idempotency-key')).toBe(key)
  })

  test('to an unknown place is 404, by an unknown method 405', async () => {
    expect(await send('/v1/nothing', { method: 'GET' })).toMatchObject({
      ...{ status: 404, body: { error: { type: 'invalid_request_error' } } },
    })
    expect((await send('/v1/charges/%00', { method: 'GET' })).status).toBe(404)
    expect((await send('/orders/%00', { method: 'DELETE' })).status).toBe(404)
    const put = await send('/v1/charges', { method: 'PUT', body: {} })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'POST'])
    const patch = await send('/orders/1', { method: 'PATCH', body: {} })
    expect([patch.status, patch.headers.get('allow')]).toEqual([405, 'PUT, GET, DELETE'])
  })
})

describe('an order', () => {
  test('is replaced by PUT, whole', async () => {
    const user = freshUser()
    const path = '/orders/order-1'
    const put = (body: unknown) => send(path, { user, method: 'PUT', body })

    expect(await put({ item: 'book', gift: true })).toMatchObject({
      ...{ status: 201, body: { id: 'order-1', item: 'book', gift: true } },
    })
    expect((await put({ item: 'pen' })).status).toBe(200)
    expect((await put({ item: 'pen' })).status).toBe(200)
    const read = await send(path, { user, method: 'GET' })
    expect([read.status, read.body]).toEqual([200, { id: 'order-1', item: 'pen' }])
    expect((await put([])).status).toBe(400)
  })

  test('takes every text that JSON has', async () => {
    const user = freshUser()
    const body = { text: 'a\0b', half: '\ud800', __proto__: null }
    expect((await send('/orders/1', { user, method: 'PUT', body })).status).toBe(201)
    const read = await send('/orders/1', { user, method: 'GET' })
    expect(read.body).toMatchObject({ text: 'a\0b', half: '\ud800' })
  })

  test('is 204 to DELETE however often, also if it never was', async () => {
    const user = freshUser()
    await send('/orders/1', { user, method: 'PUT', body: {} })
    const remove = (id: string) => send(`/orders/${id}`, { user, method: 'DELETE' })

    const answers = [await remove('1'), await remove('1'), await remove('never')]
    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [204, ''],
      [204, ''],
      [204, ''],
    ])
    expect((await send('/orders/1', { user, method: 'GET' })).status).toBe(404)
  })

  test('belongs to its user', async () => {
    const [user, stranger] = [freshUser(), freshUser()]
    await send('/orders/1', { user, method: 'PUT', body: { item: 'book' } })

    expect((await send('/orders/1', { user: stranger, method: 'GET' })).status).toBe(404)
    await send('/orders/1', { user: stranger, method: 'DELETE' })
    expect((await send('/orders/1', { user, method: 'GET' })).body).toMatchObject({ item: 'book' })
  })
})

test('every response echoes the key, also where none is needed', async () => {
  const key = freshKey()
  const answers = [
    await send('/orders/7', { method: 'PUT', body: {}, key }),
    await send('/orders/7', { method: 'GET', key }),
    await send('/orders/7', { method: 'DELETE', key }),
    await send('/nowhere', { method: 'GET', key }),
  ]
  expect(answers.map(({ headers }) => headers.get('idempotency-key'))).toEqual(
    answers.map(() => key),
  )
})

test('a request passes the points of the demonstration in order', async () => {
  api.faults.reached.length = 0
  await charge({ user: freshUser(), key: freshKey() })
  expect(api.faults.reached).toEqual(['after-claim', 'before-commit'])
})
