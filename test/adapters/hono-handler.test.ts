import { type Context, type Handler, Hono, type MiddlewareHandler } from 'hono'
import { describe, expect, test } from 'vitest'
import { idempotent } from '../../src/adapters/hono.ts'
import { createReprise, memoryStore } from '../../src/index.ts'
import { giveUp } from './fetch-bridge.ts'

const caller = () => 'acct_1'

/** A request as a test sends it. */
function post(body: string, headers: Readonly<Record<string, string>> = {}): RequestInit {
  return { method: 'POST', body, headers: { 'Idempotency-Key': 'key-1', ...headers } }
}

const json = { 'Content-Type': 'application/json' }
const form = { 'Content-Type': 'application/x-www-form-urlencoded' }

/** An app whose one route answers with what `read` finds. */
function echo(before: MiddlewareHandler | undefined, read: (c: Context) => Promise<unknown>): Hono {
  const app = new Hono()
  app.onError((error, c) => c.text(error.message, 500))
  if (before !== undefined) app.use(before)
  app.use(idempotent(createReprise({ store: memoryStore() }), { caller }))
  return app.post('/items', async (c) => c.json(await read(c)))
}

describe('the body', () => {
  const readers: Readonly<Record<string, (c: Context) => Promise<unknown>>> = {
    json: (c) => c.req.json(),
    text: (c) => c.req.text(),
    arrayBuffer: (c) => c.req.arrayBuffer(),
    blob: (c) => c.req.blob(),
    bytes: (c) => c.req.bytes(),
  }

  test.each(Object.entries(readers))(
    'is compared after c.req.%s() has read it',
    async (_, read) => {
      const before: MiddlewareHandler = async (c, next) => {
        await read(c)
        await next()
      }
      const app = echo(before, (c) => c.req.json())

      const first = await app.request('/items', post('{"a":1,"b":2}', json))
      expect(await first.json()).toEqual({ a: 1, b: 2 })
      const again = await app.request('/items', post('{"b":2, "a":1}', json))
      expect(again.headers.get('Idempotent-Replayed')).toBe('true')
      expect((await app.request('/items', post('{"a":1}', json))).status).toBe(422)
    },
  )

  test('is compared after c.req.parseBody() has read it', async () => {
    const before: MiddlewareHandler = async (c, next) => {
      await c.req.parseBody()
      await next()
    }
    const app = echo(before, (c) => c.req.parseBody())

    expect(await (await app.request('/items', post('a=1&b=2', form))).json()).toEqual({
      ...{ a: '1', b: '2' },
    })
    expect((await app.request('/items', post('a=2', form))).status).toBe(422)
  })

  test('is compared where an older version has kept the JSON', async () => {
    const before: MiddlewareHandler = async (c, next) => {
      Object.assign(c.req.bodyCache, { json: c.req.raw.json() })
      await next()
    }
    const app = echo(before, async () => 'done')
    await app.request('/items', post('{"a":1,"b":2}', json))
    const again = await app.request('/items', post('{"b":2,"a":1}', json))
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
    expect((await app.request('/items', post('{"a":1}', json))).status).toBe(422)
  })

  test.each(Object.entries(readers))('is there for c.req.%s()', async (_, read) => {
    const app = echo(undefined, async (c) =>
      Buffer.from(await new Response(await body(c)).bytes()).toString(),
    )
    const body = async (c: Context) => {
      const value = await read(c)
      // Each of these can be a body, but for parsed JSON.
      return value instanceof Object && value.constructor === Object
        ? JSON.stringify(value)
        : (value as ArrayBuffer)
    }
    expect(await (await app.request('/items', post('{"a":1}', json))).json()).toBe('{"a":1}')
  })

  test('is there for whoever reads the raw request', async () => {
    const app = echo(undefined, (c) => c.req.raw.text())
    expect(await (await app.request('/items', post('raw'))).json()).toBe('raw')
  })

  test('is asked for in a sentence when the raw request was read before', async () => {
    const before: MiddlewareHandler = async (c, next) => {
      await c.req.raw.text()
      await next()
    }
    const response = await echo(before, async () => 'never').request('/items', post('raw'))
    expect(response.status).toBe(500)
    expect(await response.text()).toContain('the body was read before the route is protected')
  })

  test('is asked for in a sentence when c.req.formData() was read before', async () => {
    const before: MiddlewareHandler = async (c, next) => {
      await c.req.formData()
      await next()
    }
    const response = await echo(before, async () => 'never').request('/items', post('a=1', form))
    expect(response.status).toBe(500)
    expect(await response.text()).toContain('use c.req.parseBody()')
  })
})

describe('the route', () => {
  /** Under which operation a request to `/v1/items/7` is recorded. */
  async function operationOf(mount: (app: Hono, protection: MiddlewareHandler) => void) {
    const store = memoryStore()
    const app = new Hono()
    mount(app, idempotent(createReprise({ store }), { caller }))
    expect((await app.request('/v1/items/7', post('hello'))).status).toBe(200)
    const { records } = await store.list({ limit: 1 })
    return records[0]?.record.operation
  }

  test('is the one that the middleware is mounted on', async () => {
    const mount = (app: Hono, protection: MiddlewareHandler) =>
      app.post('/v1/items/:id', protection, (c) => c.text('ok')).all('*', (c) => c.text('else'))
    expect(await operationOf(mount)).toBe('POST /v1/items/:id')
  })

  test('is the one that answers, for a middleware of many routes', async () => {
    const mount = (app: Hono, protection: MiddlewareHandler) =>
      app
        .use(protection)
        .use('/v1/*', (_, next) => next())
        .post('/v1/items/:id', (c) => c.text('ok'))
    expect(await operationOf(mount)).toBe('POST /v1/items/:id')
  })

  test('is that of the whole app, for a part of it', async () => {
    const mount = (app: Hono, protection: MiddlewareHandler) => {
      const part = new Hono().use(protection).post('/items/:id', (c) => c.text('ok'))
      app.route('/v1', part)
    }
    expect(await operationOf(mount)).toBe('POST /v1/items/:id')
  })

  test('is the path, where only a wildcard answers', async () => {
    const mount = (app: Hono, protection: MiddlewareHandler) =>
      app.post('/v1/*', protection, (c) => c.text('ok'))
    expect(await operationOf(mount)).toBe('POST /v1/items/7')
  })
})

describe('headers of outer middleware', () => {
  test('are on replays and refusals too', async () => {
    const app = new Hono()
    let sent = 0
    app.use(async (c, next) => {
      c.header('X-Request-Id', `${++sent}`)
      await next()
      c.header('X-After', `${sent}`)
    })
    app.use(idempotent(createReprise({ store: memoryStore() }), { caller }))
    app.post('/items', (c) => c.json({ id: 1 }, 201))

    for (const [body, status] of [
      ['a', 201],
      ['a', 201],
      ['b', 422],
    ] as const) {
      const response = await app.request('/items', post(body))
      expect(response.status).toBe(status)
      expect(response.headers.get('X-Request-Id')).toBe(`${sent}`)
      expect(response.headers.get('X-After')).toBe(`${sent}`)
    }
  })
})

describe('a response', () => {
  test('is marked although it can not be changed', async () => {
    const app = new Hono()
    app.use(idempotent(createReprise({ store: memoryStore() }), { caller }))
    app.post('/items', () => Response.redirect('http://127.0.0.1/there'))
    const response = await app.request('/items', post('a'))
    expect(response.status).toBe(302)
    expect(response.headers.get('Idempotency-Key')).toBe('key-1')
  })

  test('that is not sent leaves nothing behind', async () => {
    const store = memoryStore()
    const answering = (handler: Handler) => {
      const app = new Hono().use(idempotent(createReprise({ store }), { caller }))
      return app.post('/items', handler)
    }
    const app = answering(async (c) => {
      await giveUp(store)
      await answering((other) => other.text('winner')).request('/items', post('a'))
      return c.text('loser', 201, { 'X-Loser': 'yes' })
    })
    const response = await app.request('/items', post('a'))
    expect([response.status, await response.text()]).toEqual([200, 'winner'])
    expect(response.headers.get('X-Loser')).toBeNull()
    expect(response.headers.get('Idempotent-Replayed')).toBe('true')
  })
})

describe('errors', () => {
  test('are rendered by the part of the app that they belong to', async () => {
    const part = new Hono()
    part.onError((error, c) => c.text(`part: ${error.message}`, 402))
    part.use(idempotent(createReprise({ store: memoryStore() }), { caller }))
    part.post('/', () => {
      throw new Error('declined')
    })
    const app = new Hono().route('/items', part)

    const first = await app.request('/items', post('a'))
    expect([first.status, await first.text()]).toEqual([402, 'part: declined'])
    const again = await app.request('/items', post('a'))
    expect([again.status, await again.text()]).toEqual([402, 'part: declined'])
    expect(again.headers.get('Idempotent-Replayed')).toBe('true')
  })

  test('that are no errors are thrown on', async () => {
    const app = new Hono()
    app.use(idempotent(createReprise({ store: memoryStore() }), { caller }))
    app.post('/items', () => {
      // Whatever can be thrown is thrown somewhere.
      throw 'a text' as unknown as Error
    })
    await expect(app.request('/items', post('a'))).rejects.toBe('a text')
  })
})
