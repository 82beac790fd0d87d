/** The tasks API (Express), sentence by sentence. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTasks, tasksSchema } from '../../examples/tasks/index.ts'
import { type Api, freshKey, marksOf, overlapping, PUBLIC_URL, serveApi } from './api.ts'

let api: Api
beforeAll(async () => {
  api = await serveApi(createTasks, tasksSchema)
})
afterAll(() => api.close())

let accounts = 0
/** An account of its own. */
const freshAccount = () => `Bearer sk_test_${++accounts}`

interface Sent {
  readonly account?: string
  readonly key?: string | undefined
  readonly method?: string
  readonly body?: unknown
}

function send(path: string, { account = 'Bearer sk_test_xyz', key, method, body }: Sent = {}) {
  const headers: Record<string, string> = { authorization: account }
  if (key !== undefined) headers['idempotency-key'] = key
  return api.send(path, { method: method ?? 'POST', headers, body })
}

const create = (sent: Sent = {}) => send('/tasks', { body: { task_name: 'buy milk' }, ...sent })
const list = async (account: string) => (await send('/tasks', { account, method: 'GET' })).body.data

describe('a task', () => {
  test('is made with 201 and has the members of the contract', async () => {
    const key = freshKey()
    const { status, body, headers } = await create({ key })

    expect(status).toBe(201)
    expect(headers.get('content-type')).toMatch(/^application\/json/)
    expect(body).toEqual({
      id: expect.stringMatching(/^task_\w+$/),
      object: 'task',
      task_name: 'buy milk',
      is_done: false,
      completed_at: null,
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
    expect(Number.isInteger(body['created_at'])).toBe(true)
    expect(Math.abs(Number(body['created_at']) - Date.now() / 1000)).toBeLessThan(60)
  })

  test('is read, listed, changed and deleted', async () => {
    const account = freshAccount()
    const task = (await create({ account })).body
    const path = `/tasks/${String(task['id'])}`

    expect((await send(path, { account, method: 'GET' })).body).toEqual(task)
    expect((await send('/tasks', { account, method: 'GET' })).body).toEqual({
      object: 'list',
      data: [task],
    })
    const done = await send(path, { account, method: 'PATCH', body: { is_done: true } })
    expect(done.status).toBe(200)
    expect(done.body).toMatchObject({ id: task['id'], task_name: 'buy milk', is_done: true })
    expect(done.body['completed_at']).toEqual(expect.any(Number))
    const open = await send(path, {
      ...{ account, method: 'PATCH', body: { is_done: false, task_name: 'buy bread' } },
    })
    expect(open.body).toMatchObject({ task_name: 'buy bread', is_done: false, completed_at: null })
    expect(await send(path, { account, method: 'DELETE' })).toMatchObject({
      status: 200,
      body: { id: task['id'], object: 'task', deleted: true },
    })
    expect((await send(path, { account, method: 'GET' })).status).toBe(404)
  })

  test('is deleted again without an error, with and without a key', async () => {
    const task = (await create()).body
    const path = `/tasks/${String(task['id'])}`
    const key = freshKey()

    const answers = [
      await send(path, { method: 'DELETE', key }),
      await send(path, { method: 'DELETE', key }),
      await send(path, { method: 'DELETE' }),
      await send(path, { method: 'DELETE' }),
    ]

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1)
    expect(answers[1]?.headers.get('idempotent-replayed')).toBe('true')
  })

  test('of another account is not seen, changed or deleted', async () => {
    const [account, stranger] = [freshAccount(), freshAccount()]
    const task = (await create({ account })).body
    const path = `/tasks/${String(task['id'])}`

    expect((await send(path, { account: stranger, method: 'GET' })).status).toBe(404)
    const change = { method: 'PATCH', body: { is_done: true } }
    expect((await send(path, { account: stranger, ...change })).status).toBe(404)
    await send(path, { account: stranger, method: 'DELETE' })
    expect(await list(account)).toEqual([task])
    expect(await list(stranger)).toEqual([])
  })
})

describe('a key', () => {
  test('has one effect, and its replay is 200 with the same body', async () => {
    const [account, key] = [freshAccount(), freshKey()]
    const first = await create({ account, key })
    const again = await create({ account, key })

    expect(first.status).toBe(201)
    expect(marksOf(first)).toEqual({ 'idempotency-key': key })
    expect(again.status).toBe(200)
    expect(again.text).toBe(first.text)
    expect(marksOf(again)).toEqual({ 'idempotency-key': key, 'idempotent-replayed': 'true' })
    expect(await list(account)).toEqual([first.body])
  })

  test('with other parameters is 409, names the key, and leaves the first answer', async () => {
    const [account, key] = [freshAccount(), 'abc-123']
    const first = await create({ account, key })
    const other = await create({ account, key, body: { task_name: 'buy CHEESE' } })

    expect(other.status).toBe(409)
    expect(other.body).toEqual({
      error: {
        type: 'invalid_request_error',
        message: expect.stringContaining(`'abc-123'`),
        code: 'idempotency_conflict',
        param: 'idempotency_key',
        doc_url: `${PUBLIC_URL}/errors/tasks/idempotency-key-reused`,
      },
    })
    expect(marksOf(other)).toEqual({ 'idempotency-key': key, 'idempotency-stored': 'false' })
    expect((await create({ account, key })).text).toBe(first.text)
    expect(await list(account)).toHaveLength(1)
  })

  test('is compared by what the body says, not by how it is written', async () => {
    const [account, key] = [freshAccount(), freshKey()]
    const headers = { authorization: account, 'idempotency-key': key }
    const typed = { ...headers, 'content-type': 'application/json; charset=utf-8' }
    const sent = (body: string) => api.send('/tasks', { method: 'POST', headers: typed, body })

    expect((await sent('{"task_name":"a","note":1}')).status).toBe(201)
    expect((await sent('{ "note": 1, "task_name": "\\u0061" }')).status).toBe(200)
  })

  test('that is running is 409 with Retry-After', async () => {
    const [account, key] = [freshAccount(), freshKey()]
    const [second, first] = await overlapping(api, () => create({ account, key }))

    expect(first.status).toBe(201)
    expect(second.status).toBe(409)
    expect(second.body).toMatchObject({ error: { code: 'idempotency_in_progress' } })
    expect(marksOf(second)).toMatchObject({ 'idempotency-key': key })
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
    expect(await list(account)).toHaveLength(1)
  })

  test('with other parameters is a conflict also while the first is running', async () => {
    const [account, key] = [freshAccount(), freshKey()]
    const [second] = await overlapping(
      api,
      () => create({ account, key }),
      () => create({ account, key, body: { task_name: 'other' } }),
    )

    expect(second.body).toMatchObject({ error: { code: 'idempotency_conflict' } })
  })

  test('sent ten times at once has one effect', async () => {
    const [account, key] = [freshAccount(), freshKey()]
    const answers = await Promise.all(Array.from({ length: 10 }, () => create({ account, key })))

    const statuses = answers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 201)).toHaveLength(1)
    expect(statuses.every((status) => [200, 201, 409].includes(status))).toBe(true)
    expect(await list(account)).toHaveLength(1)
  })

  test('counts for one account, method and path', async () => {
    const key = freshKey()
    const [test, live] = ['Bearer sk_test_same', 'Bearer sk_live_same']
    const first = await create({ account: test, key })
    const second = await create({ account: live, key })
    const patch = { account: test, key, method: 'PATCH', body: { task_name: 'buy milk' } }
    const third = await send(`/tasks/${first.id}`, patch)

    expect([first, second, third].map(({ status }) => status)).toEqual([201, 201, 200])
    expect(second.body['id']).not.toBe(first.body['id'])
    expect(third.headers.get('idempotent-replayed')).toBeNull()
  })

  test('counts on PATCH too', async () => {
    const [account, key] = [freshAccount(), freshKey()]
    const path = `/tasks/${(await create({ account })).id}`
    const change = { account, method: 'PATCH', body: { is_done: true } }
    const first = await send(path, { ...change, key })
    await send(path, { account, method: 'PATCH', body: { is_done: false } })
    const again = await send(path, { ...change, key })

    expect(again.status).toBe(200)
    expect(again.text).toBe(first.text)
    // The late duplicate has not undone what came after it.
    const now = await send(path, { account, method: 'GET' })
    expect(now.body['is_done']).toBe(false)
  })

  test('that is missing leaves every request an effect of its own', async () => {
    const account = freshAccount()
    const answers = [await create({ account }), await create({ account })]

    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(marksOf(answers[0] ?? (await create()))).toEqual({})
    expect(await list(account)).toHaveLength(2)
  })

  test.each([
    ['of 256 characters', 'k'.repeat(256), 'idempotency_key_too_long'],
    ['that is empty', '', 'idempotency_key_invalid'],
    ['that was never set', 'undefined', 'idempotency_key_invalid'],
  ])('%s is 400', async (_, key, code) => {
    const account = freshAccount()
    const refused = await create({ account, key })

    expect(refused.status).toBe(400)
    expect(refused.body).toMatchObject({
      error: { type: 'invalid_request_error', code, param: 'idempotency_key' },
    })
    expect(await list(account)).toEqual([])
  })

  test('of 255 characters is taken', async () => {
    const key = 'k'.repeat(255)
    expect((await create({ account: freshAccount(), key })).status).toBe(201)
  })

  test.each(['before', 'after'] as const)('is free after a failure %s the effect', async (when) => {
    const [account, key] = [freshAccount(), freshKey()]
    api.faults.failNext(when)
    const failed = await create({ account, key })
    const again = await create({ account, key })

    expect(failed.status).toBe(500)
    expect(String(api.reported.at(-1))).toContain(`fail-${when}`)
    expect(failed.body).toMatchObject({ error: { type: 'api_error', code: 'internal_error' } })
    expect(marksOf(failed)).toMatchObject({ 'idempotent-retry': 'same-key' })
    expect(again.status).toBe(201)
    expect(await list(account)).toEqual([again.body])
  })
})

describe('a request that can not be taken on', () => {
  test.each([
    ['without a name', {}, 'task_name'],
    ['with an empty name', { task_name: '' }, 'task_name'],
    ['with a name of 256 characters', { task_name: 'x'.repeat(256) }, 'task_name'],
    ['with a name that is no text', { task_name: 7 }, 'task_name'],
    ['with a character that can not be stored', { task_name: 'a\0b' }, 'task_name'],
    ['with a list', [], null],
    ['with half a document', '{"task_name":', null],
  ])('%s is 400 and leaves the key free', async (_, body, param) => {
    const [account, key] = [freshAccount(), freshKey()]
    const headers = { authorization: account, 'idempotency-key': key }
    const typed = { ...headers, 'content-type': 'application/json' }
    const refused = await api.send('/tasks', { method: 'POST', headers: typed, body })
    const corrected = await create({ account, key })

    expect(refused.status).toBe(400)
    expect(refused.body).toEqual({
      error: {
        type: 'invalid_request_error',
        ...{ message: expect.any(String), code: expect.any(String), param },
        doc_url: `${PUBLIC_URL}/docs#tasks`,
      },
    })
    expect(corrected.status).toBe(201)
    expect(await list(account)).toHaveLength(1)
  })

  test('takes a name of 255 characters, however many bytes they are', async () => {
    const task_name = '🥛'.repeat(255)
    const { status, body } = await create({ body: { task_name } })
    expect([status, body['task_name']]).toEqual([201, task_name])
  })

  test('changes nothing with an empty PATCH', async () => {
    const path = `/tasks/${(await create()).id}`
    expect((await send(path, { method: 'PATCH', body: {} })).status).toBe(400)
  })

  test.each([
    ['no', ''],
    ['another', 'Bearer xyz'],
    ['half a', 'Bearer sk_test_'],
    ['an undivided', 'sk_test_xyz'],
  ])('with %s credential is 401', async (_, account) => {
    const { status, body } = await create({ account, key: freshKey() })
    expect(status).toBe(401)
    expect(body).toMatchObject({ error: { type: 'invalid_request_error', code: 'unauthorized' } })
  })

  test('to an unknown place is 404, by an unknown method 405', async () => {
    const unknown = await send('/tasks/task_none', { method: 'GET' })
    expect(unknown.status).toBe(404)
    expect(unknown.body).toMatchObject({ error: { code: 'task_not_found' } })
    expect((await send('/tasks/%00', { method: 'GET' })).status).toBe(404)
    expect((await send('/tasks/a/b', { method: 'GET' })).body).toMatchObject({
      error: { code: 'not_found' },
    })
    const put = await send('/tasks', { method: 'PUT' })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST'])
    expect(put.body).toMatchObject({ error: { code: 'method_not_allowed' } })
    const post = await send('/tasks/task_1', { body: {} })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET, PATCH, DELETE'])
  })
})

test('a request passes the points of the demonstration in order', async () => {
  api.faults.reached.length = 0
  await create({ key: freshKey() })
  expect(api.faults.reached).toEqual(['after-claim', 'before-commit'])
})

test('no API key is stored', async () => {
  const secret = `sk_live_secret_${Date.now()}`
  await create({ account: `Bearer ${secret}`, key: freshKey() })
  const { rows } = await api.pool.query(
    'select t::text from tasks t union all select r::text from reprise.records r',
  )
  expect(rows.length).toBeGreaterThan(1)
  expect(JSON.stringify(rows)).not.toContain(secret)
})
