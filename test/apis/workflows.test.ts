/** The workflows API (NestJS), sentence by sentence. */

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createWorkflows, workflowsSchema } from '../../examples/workflows/index.ts'
import { type Api, freshKey, marksOf, overlapping, serveApi } from './api.ts'

let api: Api
beforeAll(async () => {
  api = await serveApi(createWorkflows, workflowsSchema)
})
afterAll(() => api.close())

let organisations = 0
/** An organisation of its own. */
const freshOrganisation = () => `Token org-${++organisations}`

interface Sent {
  readonly org?: string
  readonly key?: string | undefined
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

function send(path: string, { org = 'Token any', key, method = 'POST', body, ...sent }: Sent = {}) {
  const headers: Record<string, string> = { authorization: org, ...sent.headers }
  if (key !== undefined) headers['idempotency-key'] = key
  if (typeof body === 'string') headers['content-type'] = 'application/json'
  return api.send(path, { method, headers, body })
}

const START = '/api/workflows/wf-1/start/'
const start = (sent: Sent = {}) => send(START, { body: { model: 'house.idf' }, ...sent })
const runs = async (org: string, id = 'wf-1') =>
  (await send(`/api/workflows/${id}/runs/`, { org, method: 'GET' })).body['results']
const usage = async (org: string) => (await send('/api/usage/', { org, method: 'GET' })).body

describe('a run', () => {
  test('is started with 201, listed, and counted in the usage', async () => {
    const org = freshOrganisation()
    expect(await usage(org)).toEqual({ runs: 0 })
    const first = await start({ org, key: freshKey() })

    expect(first.status).toBe(201)
    expect(first.body).toEqual({
      id: expect.stringMatching(/^[\da-f-]{36}$/),
      ...{ workflow_id: 'wf-1', status: 'pending', input: { model: 'house.idf' } },
      created_at: expect.any(String),
    })
    expect(await runs(org)).toEqual([first.body])
    expect(await runs(org, 'wf-2')).toEqual([])
    expect(await usage(org)).toEqual({ runs: 1 })
  })

  test('takes any JSON object, and no body for an empty one', async () => {
    const org = freshOrganisation()
    const body = { deep: [{ text: 'a\0b', half: '\ud800' }], n: 1e300 }
    expect((await start({ org, body })).body['input']).toEqual(body)
    expect((await send(START, { org })).body['input']).toEqual({})
    expect(await usage(org)).toEqual({ runs: 2 })
  })

  test('belongs to its organisation', async () => {
    const [org, stranger] = [freshOrganisation(), freshOrganisation()]
    await start({ org })
    expect(await runs(stranger)).toEqual([])
    expect(await usage(stranger)).toEqual({ runs: 0 })
  })

  test('is started at the path without its last slash, too', async () => {
    const org = freshOrganisation()
    expect((await send('/api/workflows/wf-1/start', { org, body: {} })).status).toBe(201)
    expect((await send('/api/usage', { org, method: 'GET' })).body).toEqual({ runs: 1 })
  })
})

describe('a key', () => {
  test('has one run; the replay is 201 and names the first request', async () => {
    const [org, key] = [freshOrganisation(), freshKey()]
    const first = await start({ org, key })
    const again = await start({ org, key })

    const id = first.headers.get('x-request-id') ?? ''
    expect(id).toMatch(/^[\da-f-]{36}$/)
    expect(marksOf(first)).toEqual({ 'idempotency-key': key })
    expect([again.status, again.text]).toEqual([201, first.text])
    expect(marksOf(again)).toEqual({
      ...{ 'idempotency-key': key, 'idempotent-replayed': 'true', 'original-request-id': id },
    })
    expect(again.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/)
    expect(again.headers.get('x-request-id')).not.toBe(id)
    expect(await usage(org)).toEqual({ runs: 1 })
    expect(await runs(org)).toHaveLength(1)
  })

  test('names the first request by the id that the client gave it', async () => {
    const [org, key] = [freshOrganisation(), freshKey()]
    const first = await start({ org, key, headers: { 'x-request-id': 'mine-1' } })
    const again = await start({ org, key, headers: { 'x-request-id': 'mine-2' } })

    expect(first.headers.get('x-request-id')).toBe('mine-1')
    expect(again.headers.get('x-request-id')).toBe('mine-2')
    expect(again.headers.get('original-request-id')).toBe('mine-1')
  })

  test('with another body is 422 idempotency_key_reused', async () => {
    const [org, key] = [freshOrganisation(), freshKey()]
    const first = await start({ org, key })
    const other = await start({ org, key, body: { model: 'other.idf' } })

    expect(other.status).toBe(422)
    expect(other.body).toEqual({
      ...{ detail: expect.stringContaining('already used'), code: 'idempotency_key_reused' },
    })
    expect(marksOf(other)).toEqual({ 'idempotency-key': key, 'idempotency-stored': 'false' })
    expect(other.headers.get('x-request-id')).not.toBeNull()
    expect((await start({ org, key })).text).toBe(first.text)
    expect(await usage(org)).toEqual({ runs: 1 })
  })

  test('for another workflow is 422 as well', async () => {
    const [org, key] = [freshOrganisation(), freshKey()]
    await start({ org, key })
    const other = await send('/api/workflows/wf-2/start/', {
      ...{ org, key, body: { model: 'house.idf' } },
    })
    expect([other.status, other.body['code']]).toEqual([422, 'idempotency_key_reused'])
  })

  test('that is running is 409 idempotency_key_in_progress', async () => {
    const [org, key] = [freshOrganisation(), freshKey()]
    const [second, first] = await overlapping(api, () => start({ org, key }))

    expect(first.status).toBe(201)
    expect(second.status).toBe(409)
    expect(second.body).toEqual({
      ...{ detail: expect.stringContaining('in progress'), code: 'idempotency_key_in_progress' },
    })
    expect(second.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(await usage(org)).toEqual({ runs: 1 })
  })

  test('sent ten times at once is billed once', async () => {
    const [org, key] = [freshOrganisation(), freshKey()]
    const answers = await Promise.all(Array.from({ length: 10 }, () => start({ org, key })))

    expect(answers.some(({ status }) => status === 201)).toBe(true)
    expect(answers.every(({ status }) => status === 201 || status === 409)).toBe(true)
    expect(await usage(org)).toEqual({ runs: 1 })
    expect(await runs(org)).toHaveLength(1)
  })

  test('of ten requests at once, each with its own, is billed ten times', async () => {
    const org = freshOrganisation()
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => start({ org, key: freshKey() })),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(await usage(org)).toEqual({ runs: 10 })
  })

  test('counts for one organisation', async () => {
    const [a, b, key] = [freshOrganisation(), freshOrganisation(), freshKey()]
    const answers = [await start({ org: a, key }), await start({ org: b, key })]

    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(answers[1]?.id).not.toBe(answers[0]?.id)
    expect([await usage(a), await usage(b)]).toEqual([{ runs: 1 }, { runs: 1 }])
  })

  test('is optional: without one every request is a run', async () => {
    const org = freshOrganisation()
    const answers = [await start({ org }), await start({ org })]

    expect(answers.map(({ status }) => status)).toEqual([201, 201])
    expect(await usage(org)).toEqual({ runs: 2 })
  })

  test('of 256 characters is 400 idempotency_key_too_long, of 255 it is taken', async () => {
    const org = freshOrganisation()
    const refused = await start({ org, key: 'k'.repeat(256) })

    expect(refused.status).toBe(400)
    expect(refused.body).toEqual({
      ...{ detail: expect.stringContaining('255'), code: 'idempotency_key_too_long' },
    })
    expect((await start({ org, key: 'k'.repeat(255) })).status).toBe(201)
    expect(await usage(org)).toEqual({ runs: 1 })
  })

  test.each(['before', 'after'] as const)('is free after a failure %s the effect', async (when) => {
    const [org, key] = [freshOrganisation(), freshKey()]
    api.faults.failNext(when)
    const failed = await start({ org, key })
    expect([failed.status, failed.body['code']]).toEqual([500, 'error'])
    expect(String(api.reported.at(-1))).toContain(`fail-${when}`)
    expect(await usage(org)).toEqual({ runs: 0 })

    expect((await start({ org, key })).status).toBe(201)
    expect(await usage(org)).toEqual({ runs: 1 })
    expect(await runs(org)).toHaveLength(1)
  })
})

describe('a request that can not be taken on', () => {
  test.each([
    ['a list', '[]'],
    ['text', '"text"'],
    ['half a document', '{"model":'],
  ])('with %s is 400 and leaves the key free', async (_, body) => {
    const [org, key] = [freshOrganisation(), freshKey()]
    const refused = await start({ org, key, body })

    expect(refused.status).toBe(400)
    expect(refused.body).toEqual({ detail: expect.any(String), code: 'invalid' })
    expect((await start({ org, key })).status).toBe(201)
    expect(await usage(org)).toEqual({ runs: 1 })
  })

  test.each(['', 'Token', 'Bearer org'])('as %j is 401', async (org) => {
    const refused = await start({ org, key: freshKey() })
    expect(refused.status).toBe(401)
    expect(refused.body).toEqual({ detail: expect.any(String), code: 'not_authenticated' })
    expect((await send('/api/usage/', { org, method: 'GET' })).status).toBe(401)
  })

  test('to an unknown place is 404, by an unknown method 405', async () => {
    expect(await send('/api/workflows/1/other/', { method: 'GET' })).toMatchObject({
      ...{ status: 404, body: { detail: expect.any(String), code: 'not_found' } },
    })
    expect((await send('/api/workflows/%00/runs/', { method: 'GET' })).status).toBe(404)
    const get = await send(START, { method: 'GET' })
    expect([get.status, get.headers.get('allow')]).toEqual([405, 'POST'])
    expect(get.body).toEqual({ detail: expect.any(String), code: 'method_not_allowed' })
    const post = await send('/api/usage/', { body: {} })
    expect([post.status, post.headers.get('allow')]).toEqual([405, 'GET'])
    const listed = await send('/api/workflows/wf-1/runs/', { body: {} })
    expect([listed.status, listed.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

test('a request passes the points of the demonstration in order', async () => {
  api.faults.reached.length = 0
  await start({ org: freshOrganisation(), key: freshKey() })
  expect(api.faults.reached).toEqual(['after-claim', 'before-commit'])
})
