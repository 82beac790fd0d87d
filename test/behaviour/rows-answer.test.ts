import express from 'express'
import { describe, expect, it } from 'vitest'
import { runOf } from '../../src/adapters/run-of.ts'
import { responsePolicies } from '../../src/core/policy.ts'
import { type Request, type RouteOptions, serveCharges, twice } from './api.ts'

/** Says that the effect begins. */
async function markEffect(request: Request): Promise<void> {
  const run = runOf(request)
  if (run === undefined || !('markEffect' in run)) throw new Error('There is no run.')
  await run.markEffect()
}

/** A charge that is answered with `status` and no more. */
function answering(status: number, options: RouteOptions = {}) {
  return serveCharges({
    ...options,
    handle: (_, response) => response.status(status).json({ status }),
  })
}

describe('an answer that says the request was not taken on', () => {
  it.each([400, 413, 415])('row 18: such as %i from validation is not stored', async (status) => {
    const charges = await answering(status)
    const [first, again] = await twice(charges)
    expect([first.status, again.status]).toEqual([status, status])
    expect(again.header('Idempotent-Replayed')).toBeUndefined()
    expect(charges.runs()).toBe(2)
    expect(await charges.records()).toEqual([])
  })

  it('row 18: by the body parser leaves the key free for the corrected request', async () => {
    const charges = await serveCharges({ after: [express.json({ limit: 100 })] })
    expect((await charges.send({ key: 'k', body: '{"amount":' })).status).toBe(400)
    const big = { note: 'n'.repeat(200) }
    expect((await charges.send({ key: 'k', body: big })).status).toBe(413)
    expect(charges.runs()).toBe(0)
    expect((await charges.send({ key: 'k' })).status).toBe(201)
  })

  it('row 18: because there is no such route does not touch the key', async () => {
    const charges = await serveCharges()
    expect((await charges.send({ key: 'k', path: '/nowhere' })).status).toBe(404)
    expect(await charges.records()).toEqual([])
  })

  it.each([401, 403])('row 19: %i of authentication comes before the claim', async (status) => {
    let isKnown = false
    const charges = await serveCharges({
      before: [(_, response, next) => (isKnown ? next() : void response.sendStatus(status))],
    })
    expect((await charges.send({ key: 'k' })).status).toBe(status)
    expect(await charges.records()).toEqual([])
    isKnown = true
    expect((await charges.send({ key: 'k' })).status).toBe(201)
    isKnown = false
    expect((await charges.send({ key: 'k' })).status).toBe(status)
  })

  it.each([401, 403])('row 19: %i of the handler itself is never stored', async (status) => {
    const charges = await answering(status)
    await twice(charges)
    expect(charges.runs()).toBe(2)
    expect(await charges.records()).toEqual([])
  })

  it('row 20: 429 is not stored, and a limiter behind the protection lets replays by', async () => {
    let left = 0
    const charges = await serveCharges({
      after: [(_, response, next) => (left-- > 0 ? next() : void response.sendStatus(429))],
    })
    expect((await charges.send({ key: 'k' })).status).toBe(429)
    expect(await charges.records()).toEqual([])
    left = 1
    expect((await charges.send({ key: 'k' })).status).toBe(201)
    expect((await charges.send({ key: 'k' })).status).toBe(201)
    expect((await charges.send({ key: 'other' })).status).toBe(429)
  })
})

describe('an answer about the world', () => {
  it.each([402, 404, 409, 410, 422])(
    'row 21: such as %i is stored and replayed',
    async (status) => {
      const charges = await answering(status)
      const [first, again] = await twice(charges)
      expect([first.status, again.status]).toEqual([status, status])
      expect(again.header('Idempotent-Replayed')).toBe('true')
      expect(charges.runs()).toBe(1)
    },
  )

  it('row 21: is not stored where the handler releases the key', async () => {
    const charges = await serveCharges({
      handle(request, response) {
        runOf(request)?.release()
        response.status(402).json('declined')
      },
    })
    await twice(charges)
    expect(charges.runs()).toBe(2)
  })

  it.each([301, 302, 303, 307, 308])(
    'row 24: such as %i is stored with its Location',
    async (status) => {
      const charges = await serveCharges({
        handle: (_, response) => response.redirect(status, '/charges/ch_1'),
      })
      const [first, again] = await twice(charges)
      expect([first.status, again.status]).toEqual([status, status])
      expect(again.header('Location')).toBe('/charges/ch_1')
      expect(again.body).toEqual(first.body)
      expect(charges.runs()).toBe(1)
    },
  )
})

describe('a failure', () => {
  it.each(['500', 'a throw'])(
    'row 22: by %s before any effect frees the key and says so',
    async (how) => {
      const charges = await serveCharges({
        marksEffect: true,
        handle(_, response) {
          if (charges.runs() > 1) return response.status(201).json('done')
          if (how === 'a throw') throw new Error('Out of luck')
          return response.status(500).json('out of luck')
        },
      })
      const [first, again] = await twice(charges)
      expect(first.status).toBe(500)
      expect(first.header('Idempotent-Retry')).toBe('same-key')
      expect([again.status, again.json]).toEqual([201, 'done'])
    },
  )

  it.each(['500', 'a throw'])('row 22: by %s after the effect began frees nothing', async (how) => {
    const charges = await serveCharges({
      marksEffect: true,
      async handle(request, response) {
        await markEffect(request)
        if (how === 'a throw') throw new Error('Out of luck')
        return response.status(500).json('out of luck')
      },
    })
    const [first, again] = await twice(charges)
    expect(first.status).toBe(500)
    expect(first.header('Idempotent-Retry')).toBeUndefined()
    expect([again.status, again.json]).toMatchObject([409, { code: 'idempotency-outcome-unknown' }])
    expect(charges.runs()).toBe(1)
  })

  it('row 22: of a handler that says nothing of its effect is not run again', async () => {
    const charges = await answering(500)
    const [, again] = await twice(charges)
    expect([again.status, again.json]).toMatchObject([409, { code: 'idempotency-outcome-unknown' }])
    expect(charges.runs()).toBe(1)
  })

  it('row 22: is stored by the policy of Stripe, with the body that the framework made of it', async () => {
    const charges = await serveCharges({
      policy: responsePolicies.stripe,
      handle() {
        throw new Error('Out of luck')
      },
    })
    const [first, again] = await twice(charges)
    expect([first.status, again.status]).toEqual([500, 500])
    expect(again.body).toEqual(first.body)
    expect(again.header('Idempotent-Replayed')).toBe('true')
    expect(charges.runs()).toBe(1)
  })

  it.each(['success-only', 'no-5xx'] as const)('row 22: is never stored by %s', async (name) => {
    const charges = await answering(500, { policy: responsePolicies[name], marksEffect: true })
    const [, again] = await twice(charges)
    expect(again.header('Idempotent-Replayed')).toBeUndefined()
    expect(charges.runs()).toBe(2)
  })

  it.each([502, 504])('row 23: of a downstream, %i, is an unknown outcome', async (status) => {
    const charges = await serveCharges({
      marksEffect: true,
      async handle(request, response) {
        await markEffect(request)
        response.status(status).json('no answer from the provider')
      },
    })
    const [first, again] = await twice(charges)
    expect(first.status).toBe(status)
    expect([again.status, again.json]).toMatchObject([409, { code: 'idempotency-outcome-unknown' }])
    expect(charges.runs()).toBe(1)
  })

  it.each([502, 504])(
    'row 23: of a downstream, %i, is settled by asking the provider',
    async (status) => {
      const charges = await serveCharges({
        afterCrash: async ({ key }) => ({
          ...{ status: 201, headers: [['Content-Type', 'application/json']] },
          body: Buffer.from(`"found ${key}"`),
        }),
        handle: (_, response) => response.status(status).json('no answer from the provider'),
      })
      const [first, again] = await twice(charges)
      expect(first.status).toBe(status)
      expect([again.status, again.json]).toEqual([201, 'found k'])
      expect((await charges.send({ key: 'k' })).header('Idempotent-Replayed')).toBe('true')
      expect(charges.runs()).toBe(1)
    },
  )
})
