/**
 * What the design says of the workflows API.
 *
 * @module
 */

import { describe, expect, test } from 'vitest'
import { call, fresh, isReplayed, type Sent, type Server, whileRunning } from './world.ts'

/** Names the tests. */
export function describeWorkflows(server: Server): void {
  const start = (sent: Sent) =>
    call(server, 'POST /api/workflows/w1/start/', { body: { depth: [1, { a: null }] }, ...sent })
  const runs = async (auth: string) => (await call(server, 'GET /api/usage/', { auth })).body.runs

  describe('workflows (seed 002), on NestJS', () => {
    test('Authorization: Token <organisation>; 201 {id, workflow_id, status, …}; listed as {results:[…]}', async () => {
      const auth = `Token ${fresh()}`
      const { status, body } = await start({ auth, key: fresh() })
      expect(status).toBe(201)
      const members = { id: expect.anything(), workflow_id: 'w1', status: expect.any(String) }
      expect(body).toMatchObject(members)
      const listed = await call(server, 'GET /api/workflows/w1/runs/', { auth })
      expect(listed.body).toEqual({ results: [body] })
      expect((await start({ auth: 'Bearer x' })).status).toBe(401)
    })

    test('each run adds one to the usage of the organisation, a replay adds none', async () => {
      const [auth, key] = [`Token ${fresh()}`, fresh()]
      expect(await runs(auth)).toBe(0)
      await start({ auth, key })
      await start({ auth, key })
      expect(await runs(auth)).toBe(1)
      await start({ auth, key: fresh() })
      // The key is optional: without one every request is a run.
      await start({ auth })
      expect(await runs(auth)).toBe(3)
    })

    test.each(['[]', '"text"', '7'])('the body is any JSON object: %s is 400', async (body) => {
      const headers = { 'Content-Type': 'application/json' }
      const answer = await start({ auth: `Token ${fresh()}`, body, headers })
      const error = { detail: expect.any(String), code: expect.any(String) }
      expect([answer.status, answer.body]).toEqual([400, error])
    })

    test('replay: 201, Idempotent-Replayed: true, Original-Request-Id equal to the X-Request-Id of the first', async () => {
      const sent = { auth: `Token ${fresh()}`, key: fresh() }
      const first = await start(sent)
      const again = await start(sent)
      expect([again.status, again.text, isReplayed(again)]).toEqual([201, first.text, true])
      const id = first.headers.get('x-request-id')
      expect(id).toEqual(expect.stringMatching(/./))
      expect(again.headers.get('original-request-id')).toBe(id)
    })

    test('errors {detail, code} as in the table', async () => {
      const sent = { auth: `Token ${fresh()}`, key: fresh() }
      await start(sent)
      const other = await start({ ...sent, body: { other: true } })
      const reused = { detail: expect.any(String), code: 'idempotency_key_reused' }
      expect([other.status, other.body]).toEqual([422, reused])
      const long = await start({ ...sent, key: 'k'.repeat(256) })
      expect([long.status, long.body.code]).toEqual([400, 'idempotency_key_too_long'])
      const { second } = await whileRunning((key, fault) => start({ ...sent, key, fault }))
      expect(second.body.code).toBe('idempotency_key_in_progress')
    })
  })
}
