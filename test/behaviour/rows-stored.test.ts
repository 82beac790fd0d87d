import { describe, expect, it } from 'vitest'
import { aesGcm } from '../../src/engine/aes-gcm.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { serveCharges, twice } from './api.ts'

describe('of an answer', () => {
  it.each(['at once', 'in pieces'])(
    'row 36: that is too large, sent %s, a marker is kept',
    async (how) => {
      const body = 'x'.repeat(5000)
      const charges = await serveCharges({
        bodyBytesMax: 1000,
        handle(_, response) {
          response.status(201).set('Location', '/charges/ch_1').type('text/plain')
          if (how === 'at once') return response.end(body)
          for (let at = 0; at < body.length; at += 500) response.write(body.slice(at, at + 500))
          return response.end()
        },
      })
      const [first, again] = await twice(charges)
      expect([first.status, first.text]).toEqual([201, body])
      expect([again.status, again.text]).toEqual([201, ''])
      expect(again.header('Location')).toBe('/charges/ch_1')
      expect(again.header('Idempotency-Body-Omitted')).toMatch(/^(5000|unknown)$/)
      expect(charges.runs()).toBe(1)
    },
  )

  it('row 36: that streams events a marker is kept, and no run stays open', async () => {
    const charges = await serveCharges({
      handle(_, response) {
        response.type('text/event-stream').write('data: 1\n\n')
        response.end('data: 2\n\n')
      },
    })
    const [first, again] = await twice(charges)
    expect(first.text).toBe('data: 1\n\ndata: 2\n\n')
    expect([again.status, again.text]).toEqual([200, ''])
    expect(again.header('Idempotency-Body-Omitted')).toBe('unknown')
    expect(charges.runs()).toBe(1)
  })

  it('row 38: what belongs to one sending is not replayed; what belongs to the answer is', async () => {
    const own = ['Set-Cookie', 'X-RateLimit-Remaining', 'RateLimit', 'Traceparent', 'Server']
    const kept = ['ETag', 'Last-Modified', 'Content-Language', 'X-Fee']
    const charges = await serveCharges({
      handle(_, response) {
        for (const name of [...own, ...kept]) response.set(name, `"${name}"`)
        response.append('Link', '<a>; rel="next"').append('Link', '<b>; rel="prev"')
        response.status(201).json({})
      },
    })
    const [first, again] = await twice(charges)
    for (const name of own) {
      expect([name, first.header(name)]).toEqual([name, `"${name}"`])
      expect([name, again.header(name)]).toEqual([name, undefined])
    }
    for (const name of [...kept, 'Content-Type']) {
      expect([name, again.header(name)]).toEqual([name, first.header(name)])
    }
    expect(again.all('Link')).toEqual(['<a>; rel="next"', '<b>; rel="prev"'])
  })

  it('row 38: cookies are replayed where the route asks for it, each on its own line', async () => {
    const charges = await serveCharges({
      headers: { cookies: true },
      handle: (_, response) => response.cookie('a', '1').cookie('b', '2').json({}),
    })
    const [, again] = await twice(charges)
    expect(again.all('Set-Cookie')).toEqual(['a=1; Path=/', 'b=2; Path=/'])
  })

  it('row 39: a secret is encrypted at rest and still replays', async () => {
    const store = memoryStore()
    const encryption = aesGcm({ current: 'k1', keys: { k1: new Uint8Array(32).fill(7) } })
    const handle = (_: unknown, response: { json(value: unknown): unknown }) =>
      response.json({ token: 'sk_live_secret' })
    const charges = await serveCharges({ engine: { store, encryption }, handle })
    const [first, again] = await twice(charges)
    expect(again.body).toEqual(first.body)
    const [record] = await charges.records()
    expect(Buffer.from(record?.response?.sealed ?? []).includes('sk_live')).toBe(false)
    expect(Buffer.from(record?.response?.sealed ?? []).length).toBeGreaterThan(40)

    const plain = await serveCharges({ handle })
    await twice(plain)
    const [clear] = await plain.records()
    expect(Buffer.from(clear?.response?.sealed ?? []).includes('sk_live')).toBe(true)
  })
  it('row 39: a secret is not kept at all where the route is sensitive: 409 tells that it is gone', async () => {
    const charges = await serveCharges({
      sensitive: true,
      waitMs: 1000,
      handle: (_, response) => response.status(201).json({ token: 'sk_live_secret' }),
    })
    const [first, again] = await twice(charges)
    expect(first.json).toEqual({ token: 'sk_live_secret' })
    expect([again.status, again.json]).toMatchObject([409, { code: 'idempotency-result-gone' }])
    const [record] = await charges.records()
    expect(record?.response?.status).toBe(201)
    expect(Buffer.from(record?.response?.sealed ?? []).includes('sk_live')).toBe(false)
    expect(charges.runs()).toBe(1)
  })
})
