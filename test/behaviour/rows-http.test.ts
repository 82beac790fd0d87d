import express from 'express'
import { describe, expect, it } from 'vitest'
import { serveCharges } from './api.ts'
import { Gate } from './gate.ts'
import { openRaw } from './raw-http.ts'

describe('a client that goes away', () => {
  it('row 25: while the handler runs cancels nothing: 409 until it is done, then a replay', async () => {
    const gate = new Gate()
    const charges = await serveCharges({
      async handle(_, response) {
        await gate.pass()
        response.status(201).json({ seesItGone: response.destroyed || response.closed })
      },
    })
    const socket = await openRaw(charges.port, { key: 'k' })
    await gate.reached()
    socket.resetAndDestroy()
    // A connection that was made later is served: by then the reset has been seen.
    expect((await charges.send({ key: 'k' })).status).toBe(409)
    const waiting = charges.send({ key: 'k', headers: [['Prefer', 'wait=10']] })
    gate.open()

    const answer = await waiting
    expect([answer.status, answer.json]).toEqual([201, { seesItGone: false }])
    expect((await charges.send({ key: 'k' })).header('Idempotent-Replayed')).toBe('true')
    expect(charges.runs()).toBe(1)
  })

  it('row 25: before all of its body has arrived has claimed nothing', async () => {
    const gone = new Gate()
    gone.open()
    const charges = await serveCharges({
      before: [
        (request, _, next) => {
          request.once('close', () => void gone.pass())
          next()
        },
      ],
    })
    const half = await openRaw(charges.port, { key: 'k', bodyBytes: 5 })
    half.end()
    await gone.reached()
    expect(await charges.records()).toEqual([])
    expect(charges.runs()).toBe(0)
    expect((await charges.send({ key: 'k', body: { amount: 200 } })).status).toBe(201)
  })
})

describe('a body', () => {
  it('row 37: over the limit gets 413 before the claim, and the key stays free', async () => {
    const charges = await serveCharges({ fingerprint: { bodyBytesMax: 1000 } })
    const refused = await charges.send({ key: 'k', body: 'x'.repeat(1001), type: 'text/plain' })
    expect([refused.status, refused.json]).toMatchObject([
      413,
      { code: 'idempotency-body-too-large' },
    ])
    expect(charges.runs()).toBe(0)
    expect(await charges.records()).toEqual([])
    const small = await charges.send({ key: 'k', body: 'x'.repeat(1000), type: 'text/plain' })
    expect(small.status).toBe(201)
  })

  it('row 37: of several megabytes is compared to its last byte and left to the handler', async () => {
    const charges = await serveCharges({
      after: [express.raw({ type: 'application/octet-stream', limit: '10mb' })],
      handle: (request, response) => response.json(request.body.length),
    })
    const body = Buffer.alloc(3_000_001, 'x')
    const type = 'application/octet-stream'
    expect((await charges.send({ key: 'k', body, type })).json).toBe(3_000_001)
    const again = await charges.send({ key: 'k', body, type })
    expect([again.json, again.header('Idempotent-Replayed')]).toEqual([3_000_001, 'true'])
    body[3_000_000] = 0
    expect((await charges.send({ key: 'k', body, type })).status).toBe(422)
    expect(charges.runs()).toBe(1)
  })
})

describe('a request', () => {
  it('row 40: that is repeated is replayed before its precondition is looked at', async () => {
    let version = 1
    const charges = await serveCharges({
      after: [
        (request, response, next) =>
          request.get('If-Match') === `"${version}"` ? next() : void response.sendStatus(412),
      ],
      handle(_, response) {
        version++
        response.set('ETag', `"${version}"`).json({ version })
      },
    })
    const change = { method: 'PATCH', headers: [['If-Match', '"1"']] } as const
    expect((await charges.send({ ...change, key: 'k' })).json).toEqual({ version: 2 })
    const again = await charges.send({ ...change, key: 'k' })
    expect([again.status, again.header('ETag'), again.json]).toEqual([200, '"2"', { version: 2 }])
    expect((await charges.send({ ...change, key: 'other' })).status).toBe(412)
    expect(version).toBe(2)
  })

  it('row 41: in early data runs with a key and gets 425 without', async () => {
    const charges = await serveCharges()
    const headers = [['Early-Data', '1']] as const
    const refused = await charges.send({ headers })
    expect([refused.status, refused.json]).toMatchObject([
      425,
      { code: 'idempotency-too-early', retryable: true },
    ])
    expect(charges.runs()).toBe(0)
    expect((await charges.send({ headers, key: 'k' })).status).toBe(201)
    expect((await charges.send({ headers, method: 'GET', body: '' })).status).toBe(201)
  })

  it('row 44: that comes again after its resource was deleted does not make it again', async () => {
    const resources = new Map<string, unknown>()
    const charges = await serveCharges({
      handle(request, response) {
        if (request.method === 'DELETE') {
          resources.delete('/charges/1')
          return response.sendStatus(204)
        }
        resources.set('/charges/1', {})
        return response.status(201).location('/charges/1').json({ id: 1 })
      },
    })
    await charges.send({ key: 'k' })
    expect((await charges.send({ method: 'DELETE', path: '/charges/1', body: '' })).status).toBe(
      204,
    )
    const late = await charges.send({ key: 'k' })
    expect([late.status, late.json]).toEqual([201, { id: 1 }])
    expect(late.header('Idempotent-Replayed')).toBe('true')
    expect(resources.size).toBe(0)
  })
})
