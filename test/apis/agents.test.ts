/** The agents API (Koa), sentence by sentence. */

import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { agentsSchema, createAgents } from '../../examples/agents/index.ts'
import { type Answer, type Api, freshKey, marksOf, overlapping, serveApi } from './api.ts'

let api: Api
/** Tokens of two agents. */
let [token, stranger] = ['', '']
beforeAll(async () => {
  api = await serveApi(createAgents, agentsSchema)
  token = String((await register({ body: { name: 'Jiji' } })).body['token'])
  stranger = String((await register({ body: { name: 'Kiki' } })).body['token'])
})
afterAll(() => api.close())

interface Sent {
  readonly as?: string | undefined
  readonly key?: string | undefined
  readonly method?: string
  readonly body?: unknown
}

function send(path: string, { as = token, key, method = 'POST', body }: Sent = {}) {
  const headers: Record<string, string> = as === '' ? {} : { authorization: `Bearer ${as}` }
  if (key !== undefined) headers['x-idempotency-key'] = key
  if (typeof body === 'string') headers['content-type'] = 'application/json'
  return api.send(path, { method, headers, body })
}

const register = (sent: Sent = {}) => send('/api/auth/agent', { as: '', ...sent })
const ACT = '/api/dwellers/d-1/act'
const act = (sent: Sent = {}) => send(ACT, { body: { action: 'move', to: 'north' }, ...sent })

async function added(table: string, work: () => Promise<unknown>): Promise<number> {
  const before = await api.count(table)
  await work()
  return (await api.count(table)) - before
}

describe('registration', () => {
  test('gives an agent with a token that works', async () => {
    const agent = await register({ body: { name: 'Jiji' } })

    expect(agent.status).toBe(201)
    expect(agent.body).toEqual({ id: agent.id, name: 'Jiji', token: expect.any(String) })
    const story = { title: 'A title', content: 'Content' }
    const posted = await send('/api/stories', { as: String(agent.body['token']), body: story })
    expect(posted.status).toBe(201)
  })

  test('with a key makes one agent, and gives its token again', async () => {
    const key = freshKey()
    const sum = await added('agents', async () => {
      const first = await register({ key, body: { name: 'Tombo' } })
      const again = await register({ key, body: { name: 'Tombo' } })
      expect([again.status, again.text]).toEqual([201, first.text])
      expect(marksOf(again)).toEqual({ 'x-idempotency-key': key, 'idempotent-replayed': 'true' })
      expect(
        (await send('/api/stories', { as: String(again.body['token']), method: 'GET' })).status,
      ).toBe(200)
    })
    expect(sum).toBe(1)
  })

  test('under the same key is 422 with another name, and gives no token away', async () => {
    const key = freshKey()
    await register({ key, body: { name: 'Osono' } })
    const other = await register({ key, body: { name: 'Ursula' } })

    expect(other.status).toBe(422)
    expect(other.text).not.toContain('agent_')
  })

  test('from another address is another agent, whoever guesses the key', async () => {
    const key = freshKey()
    const mine = await register({ key, body: { name: 'Osono' } })
    // 127.0.0.2 is another address of this machine.
    const body = '{"name":"Osono"}'
    const socket = connect({
      port: Number(new URL(api.url).port),
      host: '127.0.0.1',
      localAddress: '127.0.0.2',
    })
    socket.write(
      `POST /api/auth/agent HTTP/1.1\r\nHost: x\r\nX-Idempotency-Key: ${key}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`,
    )
    const answer = await text(socket)

    expect(answer).toMatch(/^HTTP\/1.1 201 /)
    expect(answer).toContain('"token":"agent_')
    expect(answer).not.toContain(String(mine.body['token']))
  })

  test('keeps no token in its table', async () => {
    const { rows } = await api.pool.query('select a::text from agents a')
    expect(JSON.stringify(rows)).not.toContain(token)
  })

  test.each([{}, { name: '' }, { name: 'x'.repeat(101) }, { name: 7 }, []])(
    'of %j is 400 and leaves the key free',
    async (body) => {
      const key = freshKey()
      const refused = await register({ key, body })
      expect(refused.status).toBe(400)
      expect(refused.body).toEqual({ detail: expect.any(String), code: 'invalid' })
      expect((await register({ key, body: { name: 'Bertie' } })).status).toBe(201)
    },
  )
})

const FEEDBACK = { verdict: 'approve', text: 'Well done.' }
const TEXT = { title: 'A title', content: 'Content' }

/** Every route that changes something: its path, a body, the table, the status. */
const POSTS: readonly (readonly [string, object, string, number])[] = [
  [ACT, { action: 'move', to: 'north' }, 'acts', 201],
  ['/api/dwellers/d-1/heartbeat', { mood: 'calm' }, 'heartbeats', 200],
  ['/api/stories', TEXT, 'stories', 201],
  ['/api/proposals', TEXT, 'proposals', 201],
  ['/api/review/story/s-1/feedback', FEEDBACK, 'feedback', 201],
]

describe.each(POSTS)('POST %s', (path, body, table, status) => {
  const post = (sent: Sent = {}) => send(path, { body, ...sent })

  test('takes effect and answers with an id', async () => {
    const sum = await added(table, async () => {
      const first = await post()
      expect(first.status).toBe(status)
      expect(first.body['id']).toEqual(expect.any(String))
    })
    expect(sum).toBe(1)
  })

  test('takes effect once under a key, and answers the same again', async () => {
    const key = freshKey()
    const sum = await added(table, async () => {
      const first = await post({ key })
      const again = await post({ key })
      expect(marksOf(first)).toEqual({ 'x-idempotency-key': key })
      expect([again.status, again.text]).toEqual([status, first.text])
      expect(marksOf(again)).toEqual({ 'x-idempotency-key': key, 'idempotent-replayed': 'true' })
    })
    expect(sum).toBe(1)
  })

  test('takes effect each time without a key', async () => {
    const sum = await added(table, async () => {
      await post()
      await post()
    })
    expect(sum).toBe(2)
  })

  test('takes effect once when it is sent ten times at once', async () => {
    const key = freshKey()
    const sum = await added(table, async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => post({ key })))
      expect(answers.some((answer) => answer.status === status)).toBe(true)
      expect(answers.every((answer) => [status, 409].includes(answer.status))).toBe(true)
    })
    expect(sum).toBe(1)
  })

  test('is 422 with another body under the same key', async () => {
    const key = freshKey()
    await post({ key })
    const sum = await added(table, async () => {
      const other = await post({ key, body: { ...body, other: 1 } })
      expect(other.status).toBe(422)
      expect(other.body).toEqual({
        ...{ detail: expect.stringContaining('already used'), code: 'idempotency_key_reused' },
      })
    })
    expect(sum).toBe(0)
  })

  test('is 409 while it is running', async () => {
    const key = freshKey()
    const sum = await added(table, async () => {
      const [second, first] = await overlapping(api, () => post({ key }))
      expect(first.status).toBe(status)
      expect(second.status).toBe(409)
      expect(second.body).toEqual({
        ...{ detail: 'Request is being processed', code: 'idempotency_in_progress' },
      })
      expect(second.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    })
    expect(sum).toBe(1)
  })

  test.each(['before', 'after'] as const)(
    'frees the key when it fails %s its effect',
    async (when) => {
      const key = freshKey()
      const sum = await added(table, async () => {
        api.faults.failNext(when)
        const failed = await post({ key })
        expect([failed.status, failed.body['code']]).toEqual([500, 'error'])
        expect(String(api.reported.at(-1))).toContain(`fail-${when}`)
        expect((await post({ key })).status).toBe(status)
      })
      expect(sum).toBe(1)
    },
  )

  test('passes the points of the demonstration in order', async () => {
    api.faults.reached.length = 0
    await post({ key: freshKey() })
    expect(api.faults.reached).toEqual(['after-claim', 'before-commit'])
  })

  test.each([undefined, 'nonsense'])('is 401 with the token %j', async (as) => {
    const sum = await added(table, async () => {
      const refused = await post({ as: as ?? '', key: freshKey() })
      expect(refused.status).toBe(401)
      expect(refused.body).toEqual({ detail: expect.any(String), code: 'not_authenticated' })
    })
    expect(sum).toBe(0)
  })

  test('is 400 with half a document or a list, and leaves the key free', async () => {
    const key = freshKey()
    const refused = [await post({ key, body: '{"a":' }), await post({ key, body: '[]' })]
    expect(refused.map((answer) => [answer.status, answer.body['code']])).toEqual([
      [400, 'invalid'],
      [400, 'invalid'],
    ])
    expect((await post({ key })).status).toBe(status)
  })
})

describe('a key', () => {
  test('counts for one agent', async () => {
    const key = freshKey()
    const [mine, theirs] = [await act({ key }), await act({ key, as: stranger })]
    expect([mine.status, theirs.status]).toEqual([201, 201])
    expect(theirs.id).not.toBe(mine.id)
  })

  test('counts for one agent on every path: elsewhere it is 422', async () => {
    const key = freshKey()
    await send('/api/stories', { key, body: TEXT })
    const sum = await added('proposals', async () => {
      expect((await send('/api/proposals', { key, body: TEXT })).status).toBe(422)
    })
    expect(sum).toBe(0)
  })

  test('in the header of others is none', async () => {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': freshKey() }
    const sum = await added('acts', async () => {
      for (let attempt = 0; attempt < 2; attempt++) {
        await api.send(ACT, { method: 'POST', headers, body: { action: 'move' } })
      }
    })
    expect(sum).toBe(2)
  })

  test('of 256 characters is 400, of 255 it is taken', async () => {
    const refused = await act({ key: 'k'.repeat(256) })
    expect([refused.status, refused.body['code']]).toEqual([400, 'idempotency_key_too_long'])
    expect((await act({ key: 'k'.repeat(255) })).status).toBe(201)
  })

  test('that is sent to a place that nobody serves stays free', async () => {
    const key = freshKey()
    expect((await send('/api/nowhere', { key, body: {} })).status).toBe(404)
    expect((await act({ key })).status).toBe(201)
  })
})

describe('lists', () => {
  test.each(['stories', 'proposals'])(
    '/api/%s has what the agent wrote, and nobody else',
    async (table) => {
      const { body } = await register({ body: { name: 'Writer' } })
      const as = String(body['token'])
      const list = (who: string): Promise<Answer> =>
        send(`/api/${table}`, { as: who, method: 'GET' })
      expect((await list(as)).body).toEqual({ data: [] })
      const first = await send(`/api/${table}`, { as, body: TEXT })

      expect(first.body).toMatchObject({ ...TEXT, agent_id: body['id'] })
      expect((await list(as)).body).toEqual({ data: [first.body] })
      expect(JSON.stringify((await list(stranger)).body)).not.toContain(first.id)
    },
  )
})

test('an act keeps what is said about it', async () => {
  const details = { to: 'north', deep: ['a\0b', '\ud800'] }
  const first = await act({ body: { action: 'move', ...details } })
  expect(first.body).toMatchObject({ dweller_id: 'd-1', action: 'move', details })
})

test.each([
  [ACT, {}, 'action'],
  ['/api/stories', { title: 'T' }, 'content'],
  ['/api/proposals', { content: 'C' }, 'title'],
  ['/api/stories', { title: 'T', content: 'a\0b' }, 'content'],
  ['/api/review/story/1/feedback', { verdict: 'approve' }, 'text'],
])('POST %s with %j is 400 and names what is wrong', async (path, body, member) => {
  const refused = await send(path, { body })
  expect(refused.status).toBe(400)
  expect(refused.body).toEqual({ detail: expect.stringContaining(`${member}: `), code: 'invalid' })
})

test('to an unknown place is 404, by an unknown method 405', async () => {
  const nowhere = await send('/api/dwellers/1/sleep', { body: {} })
  expect([nowhere.status, nowhere.body]).toEqual([
    404,
    { detail: expect.any(String), code: 'not_found' },
  ])
  expect((await send('/api/dwellers/%00/act', { body: { action: 'x' } })).status).toBe(404)
  const remove = await send('/api/stories', { method: 'DELETE' })
  expect([remove.status, remove.headers.get('allow')]).toEqual([405, 'POST, GET'])
  expect(remove.body).toEqual({ detail: expect.any(String), code: 'method_not_allowed' })
})
