/** The rides API (Fastify), sentence by sentence, with the official SDK and a provider behind it. */

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { createRides, type Rides, ridesSchema } from '../../examples/rides/index.ts'
import { createWorkers } from '../../src/workers/index.ts'
import { type Api, freshKey, marksOf, overlapping, serveApi } from './api.ts'
import { type Provider, startProvider } from './provider.ts'

let api: Api<Rides>
let provider: Provider
beforeAll(async () => {
  provider = await startProvider()
  const { stripe } = provider
  api = await serveApi((context) => createRides(context, { stripe, mailer }), ridesSchema)
})
afterEach(() => {
  provider.mood = 'up'
})
afterAll(async () => {
  await api.close()
  await provider.close()
})

/** Nobody sends what is staged here. */
const mailer = { send: () => Promise.reject(new Error('There is no mailer.')) }

const PLACES = { origin_lat: 0, origin_lon: 0.5, target_lat: -1.25, target_lon: 180 }
const OTHER = { ...PLACES, target_lat: 3 }

interface Sent {
  readonly user?: string
  readonly key?: string | undefined
  readonly method?: string
  readonly body?: unknown
  readonly type?: string
}

function send(
  path: string,
  { user = 'user@example.com', key, method = 'POST', body, type }: Sent = {},
) {
  const headers: Record<string, string> = { authorization: user }
  if (key !== undefined) headers['idempotency-key'] = key
  if (type !== undefined) headers['content-type'] = type
  return api.send(path, { method, headers, body })
}

const book = (sent: Sent = {}) => send('/rides', { body: PLACES, ...sent })

/** What the last requests came to, everywhere. */
async function effects() {
  return {
    rides: await api.count('rides'),
    audits: await api.count('audit_records'),
    charges: provider.charges.length,
    jobs: await api.count('reprise.staged_jobs'),
  }
}

/** What a function adds to it. */
async function added(work: () => Promise<unknown>) {
  const before = await effects()
  await work()
  const after = await effects()
  return {
    rides: after.rides - before.rides,
    audits: after.audits - before.audits,
    charges: after.charges - before.charges,
    jobs: after.jobs - before.jobs,
  }
}

const ONE_OF_EACH = { rides: 1, audits: 1, charges: 1, jobs: 1 }

describe('a ride', () => {
  test('is booked with 201, charged once, audited, and a receipt is staged', async () => {
    const key = freshKey()
    let first = await book({ key: freshKey() })
    const sum = await added(async () => {
      first = await book({ key })
    })

    expect(first.status).toBe(201)
    expect(first.body).toEqual({ message: expect.any(String) })
    expect(first.headers.get('location')).toMatch(/^\/rides\/\d+$/)
    expect(marksOf(first)).toEqual({ 'idempotency-key': key })
    expect(sum).toEqual(ONE_OF_EACH)
    const { rows: audits } = await api.pool.query(
      `select action, data, origin_ip::text, resource_type, resource_id::text, user_id::text
       from audit_records order by id desc limit 1`,
    )
    expect(audits).toEqual([
      {
        ...{
          action: 'created',
          data: PLACES,
          origin_ip: '127.0.0.1/32',
          user_id: expect.any(String),
        },
        ...{ resource_type: 'ride', resource_id: first.headers.get('location')?.split('/')[2] },
      },
    ])
    const { rows: jobs } = await api.pool.query(
      'select name, args::json from reprise.staged_jobs order by number desc limit 1',
    )
    expect(jobs).toMatchObject([
      { name: 'send_ride_receipt', args: { amount: 2000, currency: 'usd' } },
    ])
  })

  test('is booked by a form, too', async () => {
    const type = 'application/x-www-form-urlencoded'
    const body = 'origin_lat=0.0&origin_lon=0.5&target_lat=-1.25&target_lon=180'
    const key = freshKey()

    expect((await book({ key, type, body })).status).toBe(201)
    const reordered = 'target_lon=180&origin_lat=0.0&origin_lon=0.5&target_lat=-1.25'
    expect((await book({ key, type, body: reordered })).headers.get('idempotent-replayed')).toBe(
      'true',
    )
  })

  test('is read by its user alone', async () => {
    const { headers } = await book({ key: freshKey() })
    const path = headers.get('location') ?? ''

    const read = await send(path, { method: 'GET' })
    expect(read.status).toBe(200)
    expect(read.body).toEqual({
      ...PLACES,
      id: Number(path.split('/')[2]),
      ...{ stripe_charge_id: provider.charges.at(-1)?.id, created_at: expect.any(String) },
    })
    const stranger = await send(path, { method: 'GET', user: 'user-bad-source@example.com' })
    expect([stranger.status, stranger.body]).toEqual([404, { error: expect.any(String) }])
  })

  test('is charged under a key of its own, never the one of the client', async () => {
    const key = freshKey()
    await book({ key })
    const charge = provider.charges.at(-1)

    expect(charge?.key).toMatch(/^reprise-.+-ride_created$/)
    expect(charge?.key).not.toContain(key)
    expect(Object.fromEntries(new URLSearchParams(charge?.asked))).toMatchObject({
      ...{
        amount: '2000',
        currency: 'usd',
        description: expect.stringMatching(/^Charge for ride \d+$/),
      },
    })
  })
})

describe('a key', () => {
  test('has one effect, and its replay is byte for byte the same', async () => {
    const key = freshKey()
    const sum = await added(async () => {
      const first = await book({ key })
      const again = await book({ key })
      expect([again.status, again.text]).toEqual([201, first.text])
      expect(again.headers.get('location')).toBe(first.headers.get('location'))
      expect(marksOf(again)).toEqual({ 'idempotency-key': key, 'idempotent-replayed': 'true' })
    })
    expect(sum).toEqual(ONE_OF_EACH)
  })

  test('for another ride is 409', async () => {
    const key = freshKey()
    await book({ key })
    const sum = await added(async () => {
      const other = await book({ key, body: OTHER })
      expect(other.status).toBe(409)
      expect(other.body).toEqual({ error: expect.stringContaining('already used') })
      expect(marksOf(other)).toEqual({ 'idempotency-key': key, 'idempotency-stored': 'false' })
    })
    expect(sum).toEqual({ rides: 0, audits: 0, charges: 0, jobs: 0 })
  })

  test('that is running is 409 with Retry-After', async () => {
    const key = freshKey()
    const sum = await added(async () => {
      const [second, first] = await overlapping(api, () => book({ key }))
      expect(first.status).toBe(201)
      expect(second.status).toBe(409)
      expect(second.body).toEqual({ error: expect.stringContaining('in progress') })
      expect(second.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    })
    expect(sum).toEqual(ONE_OF_EACH)
  })

  test('sent ten times at once has one effect', async () => {
    const key = freshKey()
    const sum = await added(async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => book({ key })))
      expect(answers.some(({ status }) => status === 201)).toBe(true)
      expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
    })
    expect(sum).toEqual(ONE_OF_EACH)
  })

  test('counts for one user', async () => {
    const key = freshKey()
    const mine = await book({ key })
    const theirs = await book({ key, user: 'user-bad-source@example.com' })
    expect([mine.status, theirs.status]).toEqual([201, 402])
  })

  test.each([
    ['that is missing', undefined, 'missing'],
    ['of 19 characters', 'k'.repeat(19), 'invalid'],
    ['of 101 characters', 'k'.repeat(101), 'invalid'],
  ])('%s is 400', async (_, key, what) => {
    const sum = await added(async () => {
      const refused = await book({ key })
      expect(refused.status).toBe(400)
      expect(refused.body).toEqual({ error: expect.stringContaining(what) })
    })
    expect(sum).toEqual({ rides: 0, audits: 0, charges: 0, jobs: 0 })
  })

  test('of 20 and of 100 characters is taken', async () => {
    expect((await book({ key: 'a'.repeat(20) })).status).toBe(201)
    expect((await book({ key: 'a'.repeat(100) })).status).toBe(201)
  })
})

describe('raise_error', () => {
  test('breaks the first attempt off with 500; a retry goes on from there', async () => {
    const key = freshKey()
    const broken = await added(async () => {
      const { status, body } = await book({ key, body: { ...PLACES, raise_error: true } })
      expect([status, body]).toEqual([500, { error: expect.any(String) }])
    })
    expect(broken).toEqual({ rides: 1, audits: 1, charges: 0, jobs: 0 })

    // Without the parameter: it is no part of the fingerprint.
    const mended = await added(async () => {
      const { status, headers } = await book({ key })
      expect([status, headers.get('idempotent-replayed')]).toEqual([201, null])
    })
    expect(mended).toEqual({ rides: 0, audits: 0, charges: 1, jobs: 1 })
  })

  test('breaks off the first attempt only, whoever sends it again as it was', async () => {
    const key = freshKey()
    const type = 'application/x-www-form-urlencoded'
    const body = 'origin_lat=0&origin_lon=0&target_lat=0&target_lon=0&raise_error=true'
    const sum = await added(async () => {
      expect((await book({ key, type, body })).status).toBe(500)
      expect((await book({ key, type, body })).status).toBe(201)
    })
    expect(sum).toEqual(ONE_OF_EACH)
  })

  test('of a client that never comes back is mended by the completer', async () => {
    const { operations } = api.created
    const sum = await added(async () => {
      await book({ key: freshKey(), body: { ...PLACES, raise_error: true } })
      // As if the grace of five minutes were over.
      await api.pool.query(
        `update reprise.records set created_at = created_at - interval '1 hour',
           tried_at = tried_at - interval '1 hour' where status is null`,
      )
      const workers = createWorkers(api.reprise, { operations })
      await workers.completer?.runOnce()
    })
    expect(sum).toEqual(ONE_OF_EACH)
  })
})

describe('the provider', () => {
  test('declines a card: 402, for good, and the same to every retry', async () => {
    const user = 'user-bad-source@example.com'
    const key = freshKey()
    const first = await book({ user, key })
    const again = await book({ user, key })

    expect(first.status).toBe(402)
    expect(first.body).toEqual({ error: expect.stringContaining('Your card was declined.') })
    expect([again.status, again.text]).toEqual([402, first.text])
    expect(again.headers.get('idempotent-replayed')).toBe('true')
  })

  test.each(['down', 'cut-before', 'cut-after'] as const)(
    'that is %s is 503, which is not stored; then 201 with one charge',
    async (mood) => {
      const key = freshKey()
      const sum = await added(async () => {
        provider.mood = mood
        const failed = [await book({ key }), await book({ key })]
        provider.mood = 'up'
        const again = await book({ key })

        expect(failed.map(({ status }) => status)).toEqual([503, 503])
        expect(failed[0]?.body).toEqual({ error: expect.any(String) })
        expect(failed[0]?.headers.get('retry-after')).toBe('1')
        expect(failed[0]?.headers.get('idempotency-stored')).toBe('false')
        expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null])
      })
      expect(sum).toEqual(ONE_OF_EACH)
    },
  )

  test('may have been started afresh: its customers are made again', async () => {
    await api.pool.query(`update users set stripe_customer_id = 'cus_gone' where email = $1`, [
      'user@example.com',
    ])
    const { stripe } = provider
    await createRides(api, { stripe, mailer })

    expect((await book({ key: freshKey() })).status).toBe(201)
  })
})

describe('the handler', () => {
  test.each(['before', 'after'] as const)(
    'that fails %s the charge is 500, then goes on',
    async (when) => {
      const key = freshKey()
      const sum = await added(async () => {
        api.faults.failNext(when)
        expect((await book({ key })).status).toBe(500)
        expect(String(api.reported.at(-1))).toContain(`fail-${when}`)
        expect((await book({ key })).status).toBe(201)
      })
      expect(sum).toEqual(ONE_OF_EACH)
    },
  )

  test('passes the points of the demonstration in order', async () => {
    api.faults.reached.length = 0
    await book({ key: freshKey() })
    expect(api.faults.reached).toEqual([
      ...['after-claim', 'ride_created', 'before-charge', 'after-charge', 'charge_created'],
      'before-commit',
    ])
  })
})

describe('a request that can not be taken on', () => {
  test.each([
    ['no origin', { ...PLACES, origin_lat: undefined }, 'origin_lat: is missing'],
    ['an origin in words', { ...PLACES, origin_lon: 'here' }, 'origin_lon: must be a number'],
    ['an empty target', { ...PLACES, target_lat: '' }, 'target_lat: must be a number'],
    ['a target that is null', { ...PLACES, target_lat: null }, 'target_lat: must be a number'],
    ['a target beyond the pole', { ...PLACES, target_lat: 90.5 }, 'target_lat: must be from -90'],
    ['a target beyond the date line', { ...PLACES, target_lon: -181 }, 'target_lon: must be from'],
    ['a list', [], 'expected object'],
    ['no body', undefined, 'expected object'],
  ])('with %s is 422 and leaves the key free', async (_, body, what) => {
    const key = freshKey()
    const refused = await send('/rides', { key, body })
    const corrected = await book({ key })

    expect(refused.status).toBe(422)
    expect(refused.body).toEqual({ error: expect.stringContaining(what) })
    expect(corrected.status).toBe(201)
  })

  test('with half a document is 400', async () => {
    const refused = await book({
      key: freshKey(),
      type: 'application/json',
      body: '{"origin_lat":',
    })
    expect([refused.status, refused.body]).toEqual([400, { error: expect.any(String) }])
  })

  test.each(['', 'stranger@example.com', 'Bearer user@example.com'])(
    'as %j is 401',
    async (user) => {
      const refused = await book({ user, key: freshKey() })
      expect([refused.status, refused.body]).toEqual([401, { error: expect.any(String) }])
    },
  )

  test('to an unknown place is 404, by an unknown method 405', async () => {
    const unknown = await send('/rides/0', { method: 'GET' })
    expect([unknown.status, unknown.body]).toEqual([404, { error: expect.any(String) }])
    expect((await send('/rides/x', { method: 'GET' })).status).toBe(404)
    expect((await send('/rides/1/more', { method: 'GET' })).body).toEqual({
      error: expect.any(String),
    })
    const get = await send('/rides', { method: 'GET' })
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
    expect(get.body).toEqual({ error: expect.any(String) })
    const remove = await send('/rides/1', { method: 'DELETE' })
    expect([remove.status, remove.headers.get('allow')]).toEqual([405, 'GET'])
  })
})
