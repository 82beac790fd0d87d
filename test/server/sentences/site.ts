/**
 * What the design says of the server itself: its pages, its faults and its ledger.
 *
 * @module
 */

import { describe, expect, test } from 'vitest'
import { CRASH_POINTS } from '../../../examples/server/faults.ts'
import { call, fresh, insist, type Sent, type Server } from './world.ts'

const APIS = ['tasks', 'rides', 'workflows', 'charges', 'agents']

/** Names the tests. */
export function describeSite(server: Server): void {
  describe('the server', () => {
    test('/ is a page for people, with links', async () => {
      const { status, headers, text } = await call(server, 'GET /')
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      for (const link of ['/docs', '/metrics', '/openapi.json']) expect(text).toContain(link)
    })

    test('/dashboard is the operator’s dashboard', async () => {
      const { status, headers, text } = await call(server, 'GET /dashboard/')
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
      expect(text).toContain('<title>')
      const auth = 'Bearer sk_test_dashboard'
      const key = fresh()
      await call(server, 'POST /tasks', { auth, key, body: { task_name: 'Seen' } })
      const found = await call(server, `GET /dashboard/api/requests?key=${key}`)
      expect([found.status, found.text]).toEqual([200, expect.stringContaining(key)])
    })

    test('/metrics is Prometheus, /health/live and /health/ready answer', async () => {
      await call(server, 'POST /tasks', {
        ...{ auth: 'Bearer sk_test_metrics', key: fresh(), body: { task_name: 'Count' } },
      })
      const { headers, text } = await call(server, 'GET /metrics')
      expect(headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/)
      expect(text).toMatch(/^idempotency_checked_total(\{.*\})? \d+$/m)
      expect(text).toMatch(/^idempotency_overhead_seconds_bucket\{.*le="\+Inf"\} \d+$/m)
      for (const path of ['live', 'ready']) {
        expect((await call(server, `GET /health/${path}`)).status).toBe(200)
      }
    })

    test('/openapi.json and /docs have the header, the replay marker and the errors of all five APIs', async () => {
      const { body } = await call(server, 'GET /openapi.json')
      expect(body.tags.map(({ name }) => name)).toEqual(APIS)
      const posts = Object.values(body.paths).flatMap((path) => path['post'] ?? [])
      expect(posts.length).toBeGreaterThanOrEqual(10)
      for (const { parameters, responses } of posts) {
        expect(parameters.some(({ name }) => /^(X-)?Idempotency-Key$/.test(name))).toBe(true)
        expect(JSON.stringify(responses)).toContain('Idempotent-Replayed')
        expect(responses).toHaveProperty('409')
      }
      const { text } = await call(server, 'GET /docs')
      for (const word of ['Idempotency-Key', 'Idempotent-Replayed', '409'])
        expect(text).toContain(word)
    })
  })
}

/** Names the tests of faults, which kill the server. */
export function describeFaults(server: Server): void {
  const book = (sent: Sent) =>
    call(server, 'POST /rides', {
      ...{ auth: 'user@example.com', ...sent },
      body: { origin_lat: 1, origin_lon: 2, target_lat: 3, target_lon: 4 },
    })

  describe('faults for people and tests', () => {
    test('GET /demo/ledger → {charges:[{id, amount, idempotency_key, …}], receipts:[…], rides, …}', async () => {
      await book({ key: fresh() })
      const { body } = await call(server, 'GET /demo/ledger')
      expect(body).toMatchObject({
        ...{ rides: expect.any(Number), audit_records: expect.any(Number) },
        ...{ tasks: expect.any(Number), runs: expect.any(Number) },
        ...{ staged_jobs: expect.any(Number), receipts: expect.any(Array) },
      })
      const charge = { id: expect.stringMatching(/^ch_/), amount: 2000 }
      expect(body.charges.at(-1)).toMatchObject({ ...charge, idempotency_key: expect.any(String) })
    })

    test('fail-before / fail-after throws before / after its effect, and the charge is made once', async () => {
      for (const fault of ['fail-before', 'fail-after']) {
        const key = fresh()
        const { charges } = await server().ledger()
        expect((await book({ key, fault })).status).toBe(500)
        const made = fault === 'fail-after' ? 1 : 0
        expect((await server().ledger()).charges).toHaveLength(charges.length + made)
        await insist(() => book({ key }), 201)
        expect((await server().ledger()).charges).toHaveLength(charges.length + 1)
      }
    })

    test('slow=<ms>: the handler takes that long', async () => {
      const began = performance.now()
      expect((await book({ key: fresh(), fault: 'slow=400' })).status).toBe(201)
      expect(performance.now() - began).toBeGreaterThanOrEqual(400)
    })

    test('crash=<point> kills the API process at each named point, a supervisor restarts it, and nothing is lost', async () => {
      const before = await server().ledger()
      const keys = new Map(CRASH_POINTS.map((point) => [point, fresh()]))
      for (const [point, key] of keys) {
        const { pid } = (await insist(() => call(server, 'GET /health/live'), 200)).body
        await expect(book({ key, fault: `crash=${point}` })).rejects.toThrow('fetch failed')
        const next = await insist(() => call(server, 'GET /health/live'), 200)
        expect(next.body.pid).not.toBe(pid)
      }
      for (const key of keys.values()) await insist(() => book({ key }), 201)
      const { charges, rides } = await server().ledger()
      expect(charges).toHaveLength(before.charges.length + CRASH_POINTS.length)
      expect(rides).toBe(before.rides + CRASH_POINTS.length)
    })
  })
}
