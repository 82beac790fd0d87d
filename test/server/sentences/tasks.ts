/**
 * What the design says of the tasks API.
 *
 * @module
 */

import { describe, expect, test } from 'vitest'
import { call, fresh, isReplayed, type Sent, type Server, whileRunning } from './world.ts'

/** Names the tests. */
export function describeTasks(server: Server): void {
  const auth = `Bearer sk_test_${fresh()}`
  const post = (sent: Sent) =>
    call(server, 'POST /tasks', { auth, body: { task_name: 'Buy milk' }, ...sent })
  const count = async (as: string) =>
    (await call(server, 'GET /tasks', { auth: as })).body.data.length

  describe('tasks (seed 000), on Express', () => {
    test('Authorization: Bearer sk_test_… | sk_live_…; any such token is an account of its own', async () => {
      const accounts = [`Bearer sk_test_${fresh()}`, `Bearer sk_live_${fresh()}`]
      const key = fresh()
      for (const account of accounts) expect((await post({ auth: account, key })).status).toBe(201)
      for (const account of accounts) expect(await count(account)).toBe(1)
    })

    test.each(['', 'Bearer', 'Bearer user_1', 'Basic sk_test_1'])(
      'otherwise 401: %j',
      async (as) => {
        expect((await post({ auth: as })).status).toBe(401)
      },
    )

    test('a task has these members, with times in Unix seconds', async () => {
      const before = Math.floor(Date.now() / 1000) - 60
      const { body } = await post({ key: fresh() })
      expect(body).toEqual({
        ...{ id: expect.stringMatching(/^task_/), object: 'task', task_name: 'Buy milk' },
        ...{ is_done: false, completed_at: null },
        ...{ created_at: expect.any(Number), updated_at: expect.any(Number) },
      })
      expect(Number.isInteger(body.created_at)).toBe(true)
      expect(body.created_at).toBeGreaterThan(before)
      expect(body.created_at).toBeLessThan(before + 3600)
      const done = await call(server, `PATCH /tasks/${body.id}`, { auth, body: { is_done: true } })
      expect(done.body).toMatchObject({ is_done: true, completed_at: expect.any(Number) })
      expect((await call(server, `GET /tasks/${body.id}`, { auth })).body).toEqual(done.body)
    })

    test('first POST 201; replay 200 with the same body', async () => {
      const key = fresh()
      const first = await post({ key })
      const again = await post({ key })
      expect([first.status, again.status, again.text]).toEqual([201, 200, first.text])
      expect([isReplayed(first), isReplayed(again)]).toEqual([false, true])
    })

    test('lists are {object:"list", data:[…]}', async () => {
      const account = `Bearer sk_test_${fresh()}`
      const { body: task } = await post({ auth: account })
      const { body } = await call(server, 'GET /tasks', { auth: account })
      expect(body).toEqual({ object: 'list', data: [task] })
    })

    test.each(['', 'x'.repeat(256), 7, undefined])(
      'task_name has 1–255 characters, otherwise 400 or 422, and the key stays free: %#',
      async (task_name) => {
        const key = fresh()
        expect([400, 422]).toContain((await post({ key, body: { task_name } })).status)
        const corrected = await post({ key, body: { task_name: 'x'.repeat(255) } })
        expect(corrected.status).toBe(201)
      },
    )

    test('POST, PATCH and DELETE take keys', async () => {
      const { id } = (await post({ key: fresh() })).body
      const patched = { auth, key: fresh(), body: { task_name: 'Buy bread' } }
      const deleted = { auth, key: fresh() }
      for (const [operation, sent] of [
        [`PATCH /tasks/${id}`, patched],
        [`DELETE /tasks/${id}`, deleted],
      ] as const) {
        const first = await call(server, operation, sent)
        const again = await call(server, operation, sent)
        expect([first.status, again.status, again.text]).toEqual([200, 200, first.text])
        expect(isReplayed(again)).toBe(true)
      }
    })

    test('a second DELETE without a key also succeeds', async () => {
      const { id } = (await post({})).body
      for (let times = 0; times < 2; times++) {
        expect((await call(server, `DELETE /tasks/${id}`, { auth })).status).toBe(200)
      }
    })

    test('mismatch 409 invalid_request_error, idempotency_conflict, with a message that names the key', async () => {
      const key = fresh()
      await post({ key })
      const { status, body } = await post({ key, body: { task_name: 'Buy CHEESE' } })
      expect(status).toBe(409)
      expect(body.error).toEqual({
        ...{ type: 'invalid_request_error', code: 'idempotency_conflict' },
        ...{ param: 'idempotency_key', message: expect.stringContaining(key) },
        doc_url: expect.stringMatching(/^https?:/),
      })
    })

    test('too long 400 with code idempotency_key_too_long', async () => {
      const { status, body } = await post({ key: 'k'.repeat(256) })
      expect([status, body.error.code]).toEqual([400, 'idempotency_key_too_long'])
    })

    test('in progress 409', async () => {
      const { second, first } = await whileRunning((key, fault) => post({ key, fault }))
      expect([second.status, first.status]).toEqual([409, 201])
      expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(0)
    })

    test('without a key it runs unprotected', async () => {
      const account = `Bearer sk_test_${fresh()}`
      for (let times = 0; times < 2; times++)
        expect((await post({ auth: account })).status).toBe(201)
      expect(await count(account)).toBe(2)
    })

    test('runs in transaction mode: a failure after the effect leaves nothing', async () => {
      const account = `Bearer sk_test_${fresh()}`
      const key = fresh()
      expect((await post({ auth: account, key, fault: 'fail-after' })).status).toBe(500)
      expect(await count(account)).toBe(0)
      expect((await post({ auth: account, key })).status).toBe(201)
    })
  })
}
