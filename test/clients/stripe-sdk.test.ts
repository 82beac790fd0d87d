import { Stripe } from 'stripe'
import { describe, expect, it } from 'vitest'
import { stripe as dialect } from '../../src/core/dialects/stripe.ts'
import { responsePolicies } from '../../src/core/policy.ts'
import { type ChargesOptions, type Request, serveCharges } from '../behaviour/api.ts'
import { Gate } from '../behaviour/gate.ts'
import { cuttingProxy } from './cutting-proxy.ts'

/** A small server that speaks as Stripe does, and the official client, pointed at it. */
async function world(options: ChargesOptions = {}) {
  const keys: (string | undefined)[] = []
  const charges = await serveCharges({
    ...{ dialect, policy: responsePolicies.stripe },
    caller: (request: Request) => request.get('Authorization') ?? '',
    prefix: '/v1',
    requestId: (request: Request) => String(request.res?.getHeader('Request-Id')),
    before: [
      (request, response, next) => {
        keys.push(request.get('Idempotency-Key'))
        response.set('Request-Id', `req_${keys.length}`)
        next()
      },
    ],
    handle: (_, response) => response.json({ id: `ch_${charges.runs()}`, object: 'charge' }),
    ...options,
  })
  const proxy = await cuttingProxy(charges.port)
  const client = new Stripe('sk_test_1', {
    ...{ host: '127.0.0.1', port: proxy.port, protocol: 'http' },
    ...{ maxNetworkRetries: 2, telemetry: false },
  })
  return { charges, proxy, client, keys }
}

const CHARGE = { amount: 100, currency: 'chf', source: 'tok_visa' } as const

describe('the official client of Stripe', () => {
  it('makes a key for each call by itself, and two calls are two charges', async () => {
    const { client, keys, charges } = await world()
    const [first, second] = [
      await client.charges.create(CHARGE),
      await client.charges.create(CHARGE),
    ]
    expect([first.id, second.id]).toEqual(['ch_1', 'ch_2'])
    expect(keys).toEqual([
      expect.stringMatching(/^stripe-node-retry-/),
      expect.stringMatching(/^stripe-node-retry-/),
    ])
    expect(keys[0]).not.toBe(keys[1])
    expect(first.lastResponse.headers['idempotency-key']).toBe(keys[0])
    expect(first.lastResponse.headers['original-request']).toBe('req_1')
    expect(charges.runs()).toBe(2)
  })

  it('retries after a cut connection and gets the answer of the one charge', async () => {
    const { client, keys, charges, proxy } = await world()
    proxy.loseNextAnswer()
    const charge = await client.charges.create(CHARGE)

    expect(charge.id).toBe('ch_1')
    expect(charge.lastResponse.headers['idempotent-replayed']).toBe('true')
    expect(charge.lastResponse.headers['original-request']).toBe('req_1')
    expect(charge.lastResponse.requestId).toBe('req_2')
    expect(new Set(keys).size).toBe(1)
    expect(keys).toHaveLength(2)
    expect(charges.runs()).toBe(1)
  })

  it('retries while the first attempt still runs: 409 in use, then its answer', async () => {
    const gate = new Gate()
    const { client, keys, charges, proxy } = await world({
      async handle(_, response) {
        await gate.pass()
        response.json({ id: 'ch_slow', object: 'charge' })
      },
    })
    const creating = client.charges.create(CHARGE)
    await gate.reached()
    proxy.cut()
    await charges.happened('in_progress')
    gate.open()

    const charge = await creating
    expect(charge.id).toBe('ch_slow')
    expect(charge.lastResponse.headers['idempotent-replayed']).toBe('true')
    expect(keys).toHaveLength(3)
    expect(charges.runs()).toBe(1)
  })

  it('learns from the code of a 409 that the key is in use, when it may not retry', async () => {
    const gate = new Gate()
    const { client, charges } = await world({
      async handle(_, response) {
        await gate.pass()
        response.json({ id: 'ch_slow', object: 'charge' })
      },
    })
    const options = { idempotencyKey: 'k', maxNetworkRetries: 0 }
    const creating = client.charges.create(CHARGE, options)
    await gate.reached()
    await expect(client.charges.create(CHARGE, options)).rejects.toMatchObject({
      // The client makes an error of this class of every 409.
      ...{ type: 'StripeAPIError', rawType: 'idempotency_error', statusCode: 409 },
      ...{ code: 'idempotency_key_in_use', headers: { 'stripe-should-retry': 'true' } },
    })
    gate.open()
    expect((await creating).id).toBe('ch_slow')
    expect(charges.runs()).toBe(1)
  })

  it('throws its StripeIdempotencyError for other parameters or another endpoint, at once', async () => {
    const { client, charges, keys } = await world()
    const options = { idempotencyKey: 'k' }
    await client.charges.create(CHARGE, options)
    const mismatch = { type: 'StripeIdempotencyError', statusCode: 400 }
    await expect(client.charges.create({ ...CHARGE, amount: 200 }, options)).rejects.toMatchObject(
      mismatch,
    )
    await expect(client.refunds.create({ charge: 'ch_1' }, options)).rejects.toMatchObject(mismatch)
    expect(keys).toEqual(['k', 'k', 'k'])
    expect((await client.charges.create(CHARGE, options)).id).toBe('ch_1')
    expect(charges.runs()).toBe(1)
  })

  it('does not retry a failure that is stored, and gets it again for the same key', async () => {
    const { client, charges, keys } = await world({
      handle: (_, response) => response.status(500).json({ error: { type: 'api_error' } }),
    })
    const options = { idempotencyKey: 'k' }
    for (let attempt = 0; attempt < 2; attempt++) {
      await expect(client.charges.create(CHARGE, options)).rejects.toMatchObject({
        ...{ type: 'StripeAPIError', statusCode: 500 },
        headers: { 'stripe-should-retry': 'false' },
      })
    }
    expect(keys).toEqual(['k', 'k'])
    expect(charges.runs()).toBe(1)
  })

  it('reads without a key, and nothing is recorded for it', async () => {
    const { client, charges, keys } = await world()
    await client.charges.retrieve('ch_1')
    expect(keys).toEqual([undefined])
    expect(await charges.records()).toEqual([])
  })
})
