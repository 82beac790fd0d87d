/**
 * Every route that changes something: who may, what is refused, and that it happens once.
 *
 * @module
 */

import { beforeEach, describe, expect, it, test } from 'vitest'
import { ROUTES } from '../../src/dashboard/api.ts'
import { createDashboard, type Dashboard, type Viewer } from '../../src/dashboard/index.ts'
import { type MemoryAdmin, memoryAdmin } from './memory-admin.ts'

const HOST = 'http://ops.example'
const VIEWERS: Readonly<Record<string, Viewer>> = {
  boss: { user: 'boss@example.com', can: 'all' },
  reader: { user: 'reader@example.com', can: 'read' },
  tenant: { user: 'tenant@example.com', can: 'all', scopes: ['acct_globex'] },
  resumer: { user: 'resumer@example.com', can: ['resume'] },
}

let admin: MemoryAdmin
let dashboard: Dashboard
const authorize = ({ headers }: Request) => VIEWERS[headers.get('x-who') ?? ''] ?? null
beforeEach(() => {
  admin = memoryAdmin()
  dashboard = createDashboard({ admin, authorize })
})

interface Sending {
  readonly who?: string
  readonly key?: string | null
  readonly headers?: Readonly<Record<string, string>>
}

async function post(path: string, body: unknown, sending: Sending = {}, on = dashboard) {
  const { who = 'boss', key = 'k-1' } = sending
  const request = new Request(`${HOST}/ops/api/${path}`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', 'x-who': who },
      ...(key === null ? {} : { 'idempotency-key': key }),
      ...sending.headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  const response = await on(request, { base: '/ops', ip: '198.51.100.7' })
  return { status: response.status, body: await response.json() }
}

const idOf = (state: string) => admin.requests.find((one) => one.state === state)?.id ?? ''
const confirmOf = (id: string) => admin.requests.find((one) => one.id === id)?.key.slice(-4) ?? ''

/** One order for each route, as the page sends it. */
function orderFor(path: string): readonly [path: string, body: object] {
  const reason = 'because'
  const running = idOf('running')
  const stuck = idOf('stuck')
  const finished = idOf('finished')
  const orders: Readonly<Record<string, readonly [string, object]>> = {
    'requests/:id/reveal': [`requests/${finished}/reveal`, {}],
    'requests/:id/resume': [`requests/${stuck}/resume`, { reason, version: 'v1' }],
    'requests/:id/release': [
      `requests/${running}/release`,
      { reason, version: 'v1', confirm: confirmOf(running) },
    ],
    'requests/:id/expire': [
      `requests/${finished}/expire`,
      { reason, version: 'v1', confirm: confirmOf(finished) },
    ],
    'letters/:letter/settle': ['letters/1009/settle', { reason, way: 'resume' }],
    'jobs/:job/retry': ['jobs/5001/retry', { reason }],
    'workers/:worker/:way': ['workers/completer/pause', { reason }],
    batches: ['batches', { reason, action: 'resume', ids: [stuck] }],
    'batches/:batch/cancel': ['batches/b1/cancel', { reason }],
  }
  const order = orders[path]
  if (order === undefined) throw new Error(`No order for ${path}.`)
  return order
}

const PATHS = ROUTES.filter(({ method }) => method === 'POST').map(({ path }) => path)

describe.each(PATHS)('POST api/%s', (path) => {
  beforeEach(async () => {
    if (path === 'batches/:batch/cancel') {
      await post(...orderFor('batches'), { key: 'before' })
    }
    admin.audits.length = 0
    admin.effects = 0
  })

  it('D-64 is refused with 401 to nobody', async () => {
    expect(await post(...orderFor(path), { who: 'nobody' })).toMatchObject({ status: 401 })
    expect(admin.audits).toEqual([])
  })

  it('D-64 is refused with 403 to a reader', async () => {
    const answer = await post(...orderFor(path), { who: 'reader' })
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'forbidden' } } })
    expect([admin.effects, admin.audits]).toEqual([0, []])
  })

  it.each([
    [{ 'sec-fetch-site': 'cross-site' }, /^Sec-Fetch-Site is cross-site/],
    [{ 'sec-fetch-site': 'same-site' }, /^Sec-Fetch-Site is same-site/],
    [{ 'content-type': 'text/plain' }, /^Content-Type is text\/plain/],
  ])('D-65 is refused with %j, and says which check failed', async (headers, message) => {
    const answer = await post(...orderFor(path), { headers })
    expect(answer).toMatchObject({ status: 403, body: { error: { code: 'cross_site' } } })
    expect(answer.body.error.message).toMatch(message)
    expect([admin.effects, admin.audits]).toEqual([0, []])
  })

  it('D-56 needs a key of its own', async () => {
    const answer = await post(...orderFor(path), { key: null })
    expect(answer).toMatchObject({ status: 400 })
    expect(answer.body.error.message).toContain('Idempotency-Key')
  })

  it('D-55, D-56 has one effect and one line in the audit when it is sent twice', async () => {
    const order = orderFor(path)
    const first = await post(...order)
    const again = await post(...order)
    expect([first.status, again.status]).toEqual([200, 200])
    // Each look is noted.
    const isLook = path === 'requests/:id/reveal'
    expect([admin.effects, admin.audits.length]).toEqual(isLook ? [0, 2] : [1, 1])
    expect(admin.audits[0]).toMatchObject({ author: 'boss@example.com', ip: '198.51.100.7' })
  })

  it('D-67 is refused where nothing can be changed; to look is not to change', async () => {
    const readOnly = createDashboard({
      admin,
      authorize: () => VIEWERS['boss'] ?? null,
      readOnly: true,
    })
    const answer = await post(...orderFor(path), {}, readOnly)
    expect(answer.status).toBe(path === 'requests/:id/reveal' ? 200 : 403)
  })

  it('takes no body that is no object, and no method but its own', async () => {
    expect(await post(orderFor(path)[0], '[1')).toMatchObject({ status: 400 })
    const request = new Request(`${HOST}/ops/api/${orderFor(path)[0]}`, {
      method: 'DELETE',
      headers: { 'x-who': 'boss' },
    })
    expect((await dashboard(request, { base: '/ops' })).status).toBe(405)
  })
})

describe('an order', () => {
  it('D-65 is believed by its Origin where browsers do not say where they are', async () => {
    const headers = (origin: string) => ({ 'sec-fetch-site': '', origin, host: 'ops.example' })
    const send = async (more: Record<string, string>, on = dashboard) => {
      const request = new Request(`${HOST}/ops/api/workers/reaper/pause`, {
        method: 'POST',
        headers: {
          ...{ 'content-type': 'application/json', 'x-who': 'boss', 'idempotency-key': 'k' },
          ...more,
        },
        body: '{}',
      })
      if (more['sec-fetch-site'] === '') request.headers.delete('sec-fetch-site')
      const response = await on(request, { base: '/ops' })
      return { status: response.status, body: await response.json() }
    }
    expect((await send(headers('http://ops.example'))).status).toBe(200)
    const other = await send(headers('http://evil.example'))
    expect([other.status, other.body.error.message]).toEqual([
      403,
      expect.stringMatching(/^Origin is http:\/\/evil\.example, and the host is ops\.example/),
    ])
    // A page may have a browser send this header where the app in front answers preflights for all.
    const forwarded = { 'x-forwarded-host': 'evil.example' }
    const forged = await send({ ...headers('http://evil.example'), ...forwarded })
    expect([forged.status, forged.body.error.message]).toEqual([
      403,
      expect.stringMatching(/^Origin is http:\/\/evil\.example, and the host is ops\.example/),
    ])
    const listed = createDashboard({ admin, authorize, origins: ['https://public.example'] })
    expect((await send(headers('https://public.example'), listed)).status).toBe(200)
    expect((await send(headers('http://public.example'), listed)).status).toBe(403)
    expect((await send(headers('http://ops.example'), listed)).status).toBe(200)
    expect(() => createDashboard({ admin, authorize, origins: ['public.example'] })).toThrow(
      /origins must have origins/,
    )
    const none = await send({ 'sec-fetch-site': '' })
    expect(none.body.error.message).toMatch(/^There is neither Sec-Fetch-Site nor Origin/)
  })

  it('D-57 on a request that has changed is told the state that it is in', async () => {
    const id = idOf('stuck')
    const path = `requests/${id}/resume`
    expect(await post(path, { reason: 'r', version: 'v1' })).toMatchObject({ status: 200 })
    const late = await post(path, { reason: 'r', version: 'v1' }, { key: 'k-2' })
    expect(late).toMatchObject({ status: 409, body: { outcome: 'conflict', state: 'recovering' } })
  })

  it('D-51 that can lead to a second effect needs the end of the key, and a reason', async () => {
    const id = idOf('finished')
    const path = `requests/${id}/expire`
    const without = await post(path, { reason: 'r', version: 'v1' })
    expect(without).toMatchObject({ status: 422, body: { outcome: 'unconfirmed' } })
    expect(without.body.text).toContain('11:03:11')
    const silent = await post(path, { version: 'v1', confirm: confirmOf(id) }, { key: 'k-2' })
    expect(silent).toMatchObject({ status: 400 })
    expect(silent.body.error.message).toMatch(/^reason is missing/)
    const right = { reason: 'r', version: 'v1', confirm: confirmOf(id) }
    expect(await post(path, right, { key: 'k-3' })).toMatchObject({ status: 200 })
  })

  it('D-54 to settle is one of exactly three, with an answer that fits it', async () => {
    const settle = (body: object, key: string) => post('letters/1009/settle', body, { key })
    const cases = [
      [{ way: 'shrug', reason: 'r' }, /happened, resume, give_up/],
      [{ way: 'happened', reason: 'r', status: 500, body: {} }, /under 400/],
      [{ way: 'give_up', reason: 'r', status: 200, body: {} }, /400 or more/],
      [{ way: 'happened', reason: 'r' }, /whole number from 200 to 599/],
      [{ way: 'resume' }, /reason is missing/],
    ] as const
    for (const [body, message] of cases) {
      const answer = await settle(body, JSON.stringify(body))
      expect(answer.status).toBe(400)
      expect(answer.body.error.message).toMatch(message)
    }
    expect(
      await settle({ way: 'happened', reason: 'r', status: 201, body: {} }, 'x'),
    ).toMatchObject({ status: 200, body: { outcome: 'done' } })
  })

  it('D-52 on many settles which they are at once', async () => {
    const stuck = admin.requests.filter(({ state }) => state === 'stuck').length
    const filter = { states: ['stuck'] }
    const { body } = await post('batches', { action: 'resume', reason: 'r', filter })
    const late = admin.requests.find(({ state }) => state === 'finished')
    if (late !== undefined) late.state = 'stuck'
    expect(body).toMatchObject({ total: stuck, done: stuck, isOver: true })
    expect(admin.requests.filter(({ state }) => state === 'stuck')).toEqual([late])
  })

  it('D-52 on many takes no filter that it does not know, and not too many ids', async () => {
    const send = (body: object) => post('batches', { action: 'resume', reason: 'r', ...body })
    expect((await send({ filter: { colour: 'red' } })).body.error.message).toBe(
      'filter has no colour.',
    )
    expect((await send({ ids: [] })).body.error.message).toContain('1 to 1000')
    expect((await send({})).body.error.message).toContain('filter must be an object')
    expect((await send({ action: 'burn', ids: ['a'] })).body.error.message).toContain('resume')
  })

  it('D-34, D-66 to reveal gives every digit, and nothing that redact takes out', async () => {
    const redact = (payload: { input: unknown }) => ({ ...payload, input: { card: 'gone' } })
    const id = idOf('finished')
    const plain = await post(`requests/${id}/reveal`, {})
    expect(plain.body.input).toContain('"amount": 9007199254740993')
    expect(plain.body.response.body).toContain('"hex": "cafe"')
    const authorize = () => VIEWERS['boss'] ?? null
    // The function keeps what it does not touch.
    const strict = createDashboard({ admin, authorize, redact: redact as never })
    const redacted = await post(`requests/${id}/reveal`, {}, {}, strict)
    expect(redacted.body.input).toBe('{\n  "card": "gone"\n}')
    expect(admin.audits.map(({ action }) => action)).toEqual(['reveal', 'reveal'])
  })
})

describe('a person whose callers are limited', () => {
  const get = async (path: string) => {
    const headers = { 'x-who': 'tenant' }
    const response = await dashboard(new Request(`${HOST}/ops/api/${path}`, { headers }), {
      base: '/ops',
    })
    return { status: response.status, body: await response.json() }
  }

  it('D-64 gets 404 for what is hidden, and lists without it', async () => {
    const hidden = admin.requests.find(({ caller }) => caller !== 'acct_globex')
    const seen = admin.requests.find(({ caller }) => caller === 'acct_globex')
    expect(await get(`requests/${hidden?.id}`)).toMatchObject({ status: 404 })
    expect(await get(`requests/${seen?.id}`)).toMatchObject({ status: 200 })
    expect((await get(`keys?key=${encodeURIComponent(hidden?.key ?? '')}`)).body).toEqual([])
    const { body } = await get('requests?limit=200')
    expect(body.items.length).toBeGreaterThan(10)
    for (const { caller } of body.items) expect(caller).toBe('acct_globex')
    const other = await get('requests?caller=acct_initech')
    expect(other.body.items).toEqual([])
    for (const { caller } of (await get('letters')).body.items) expect(caller).toBe('acct_globex')
  })

  it('D-64 gets no sum over all, and no page that is about all', async () => {
    const { body } = await get('overview')
    expect([body.totals.checked, body.series, body.byCaller]).toEqual([0, [], []])
    expect(body.states.finished).toBeLessThan(50)
    expect((await get('counts')).body).toEqual(body.states)
    for (const path of ['duplicates', 'jobs', 'audit']) {
      expect(await get(path)).toMatchObject({ status: 403 })
    }
  })

  it('D-64 acts on nothing that is hidden', async () => {
    const sending = { who: 'tenant' }
    const hidden = admin.requests.find(
      (one) => one.state === 'stuck' && one.caller !== 'acct_globex',
    )
    const order = { reason: 'r', version: 'v1' }
    expect(await post(`requests/${hidden?.id}/resume`, order, sending)).toMatchObject({
      status: 404,
    })
    const many = { action: 'resume', reason: 'r' }
    expect(await post('batches', { ...many, ids: [hidden?.id] }, sending)).toMatchObject({
      status: 404,
    })
    expect(await post('batches', { ...many, filter: {} }, sending)).toMatchObject({ status: 403 })
    expect(await post('workers/reaper/pause', {}, sending)).toMatchObject({ status: 403 })
    expect(admin.effects).toBe(0)
  })
})

test('D-64 a person may be allowed some actions and not others', async () => {
  const sending = { who: 'resumer' }
  const order = { reason: 'r', version: 'v1' }
  expect(await post(`requests/${idOf('stuck')}/resume`, order, sending)).toMatchObject({
    status: 200,
  })
  const expire = await post(`requests/${idOf('finished')}/expire`, order, sending)
  expect(expire).toMatchObject({ status: 403 })
  expect(expire.body.error.message).toBe(
    'resumer@example.com may not do this: expire is not allowed.',
  )
  const batch = { action: 'expire', reason: 'r', ids: [idOf('finished')] }
  expect(await post('batches', batch, sending)).toMatchObject({ status: 403 })
})
