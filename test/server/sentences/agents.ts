/**
 * What the design says of the agents API.
 *
 * @module
 */

import { beforeAll, describe, expect, test } from 'vitest'
import { call, fresh, isReplayed, type Sent, type Server, whileRunning } from './world.ts'

const keyHeader = 'X-Idempotency-Key'

const POSTS = [
  ['POST /api/dwellers/d1/act', { action: 'look', at: 'moon' }, 201],
  ['POST /api/dwellers/d1/heartbeat', { anything: [1] }, 200],
  ['POST /api/stories', { title: 'T', content: 'C' }, 201],
  ['POST /api/proposals', { title: 'T', content: 'C' }, 201],
  ['POST /api/review/story/s1/feedback', { verdict: 'good', text: 'Well done.' }, 201],
] as const

/** Names the tests. */
export function describeAgents(server: Server): void {
  const register = (sent: Sent) =>
    call(server, 'POST /api/auth/agent', { body: { name: 'Jiji' }, keyHeader, ...sent })

  describe('agents (seed 004), on Koa', () => {
    let auth = ''
    beforeAll(async () => {
      auth = `Bearer ${(await register({})).body.token}`
    })

    test('registration: {name} → 201 {id, name, token}; it takes a key too', async () => {
      const key = fresh()
      const first = await register({ key })
      const members = { id: expect.anything(), name: 'Jiji', token: expect.any(String) }
      expect([first.status, first.body]).toEqual([201, members])
      const again = await register({ key })
      expect([again.status, again.text, isReplayed(again)]).toEqual([201, first.text, true])
    })

    test('Authorization: Bearer <token from /api/auth/agent>, otherwise 401', async () => {
      for (const as of ['', 'Bearer nonsense']) {
        expect((await call(server, 'GET /api/stories', { auth: as })).status).toBe(401)
      }
    })

    test.each(POSTS)(
      '%s honours X-Idempotency-Key, and answers {id, …}',
      async (operation, body, status) => {
        const sent = { auth, key: fresh(), keyHeader, body }
        const first = await call(server, operation, sent)
        expect([first.status, first.body]).toEqual([
          status,
          expect.objectContaining({ id: expect.anything() }),
        ])
        const again = await call(server, operation, sent)
        expect([again.status, again.text, isReplayed(again)]).toEqual([status, first.text, true])
        const mismatch = await call(server, operation, { ...sent, body: { ...body, more: 1 } })
        expect(mismatch.status).toBe(422)
        // Without a key it runs unprotected.
        const other = await call(server, operation, { auth, body })
        expect(other.body.id).not.toBe(first.body.id)
      },
    )

    test.each(['stories', 'proposals'])('/api/%s is listed as {data:[…]}', async (kind) => {
      const own = `Bearer ${(await register({})).body.token}`
      const body = { title: 'Mine', content: 'All of it' }
      const { body: made } = await call(server, `POST /api/${kind}`, { auth: own, body })
      const listed = await call(server, `GET /api/${kind}`, { auth: own })
      expect(listed.body).toEqual({ data: [made] })
    })

    test('in progress 409 "Request is being processed"', async () => {
      const { second } = await whileRunning((key, fault) =>
        call(server, 'POST /api/stories', {
          ...{ auth, key, keyHeader, fault },
          body: { title: 'T', content: 'C' },
        }),
      )
      expect(second.text).toContain('Request is being processed')
    })
  })
}
