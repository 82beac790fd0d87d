import { AsyncResource } from 'node:async_hooks'
import { connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import {
  type CallHandler,
  Controller,
  type ExecutionContext,
  type NestInterceptor,
  Post,
  RequestTimeoutException,
  UseInterceptors,
} from '@nestjs/common'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { timeout as honoTimeout } from 'hono/timeout'
import Koa from 'koa'
import { catchError, type Observable, throwError, timeout } from 'rxjs'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { idempotent as onExpress } from '../../src/adapters/express.ts'
import { idempotent as onFastify } from '../../src/adapters/fastify.ts'
import { idempotent as onHono } from '../../src/adapters/hono.ts'
import { idempotent as onKoa } from '../../src/adapters/koa.ts'
import { IdempotencyModule, Idempotent } from '../../src/adapters/nest.ts'
import { idempotent as onNode } from '../../src/adapters/node.ts'
import { createClient } from '../../src/client/index.ts'
import type { RepriseEvent } from '../../src/engine/events.ts'
import { createReprise, type Reprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { Gate } from '../../src/testing/adapter/world.ts'
import { listen as listenFetch } from './fetch-bridge.ts'
import { listen } from './listen.ts'
import { appModule, createApp, decorate, listen as listenNest } from './nest-app.ts'

let reprise: Reprise
let effects: number
let work: Gate
/** How the first run ended. */
let ended: Gate<RepriseEvent['type']>

const caller = () => 'acct_1'

beforeEach(() => {
  effects = 0
  work = new Gate()
  ended = new Gate()
  const isEnd = ({ type }: RepriseEvent) => type === 'executed' || type === 'failed'
  const onEvent = (event: RepriseEvent) => void (isEnd(event) && ended.open(event.type))
  reprise = createReprise({ store: memoryStore(), replayCache: false, onEvent })
})

afterEach(() => reprise.close({ graceMs: 0 }))

function post(port: number, path = '/orders'): Promise<Response> {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'key-1' },
    body: '{}',
  })
}

async function codeOf(response: Response): Promise<unknown> {
  const problem: unknown = await response.json()
  return [response.status, Reflect.get(Object(problem), 'code')]
}

const IN_PROGRESS = [409, 'idempotency-in-progress']
const UNKNOWN = [409, 'idempotency-outcome-unknown']

/** As Nest's documentation has it, but for its five seconds. */
class TimeoutInterceptor implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(
      timeout(20),
      catchError((error) =>
        throwError(() => (error.name === 'TimeoutError' ? new RequestTimeoutException() : error)),
      ),
    )
  }
}

async function serveNest(
  platform: 'express' | 'fastify',
  decorators: readonly MethodDecorator[],
): Promise<number> {
  class Orders {
    async create(): Promise<unknown> {
      effects++
      await work.opened
      return { id: 'order_1' }
    }
  }
  decorate(Orders, 'create', [Post('orders'), ...decorators])
  Controller()(Orders)
  const module = IdempotencyModule.forRoot({ reprise, caller })
  const app = await createApp(platform, appModule([Orders], [module]))
  onTestFinished(() => app.close())
  return listenNest(app)
}

describe.each(['express', 'fastify'] as const)(
  'the TimeoutInterceptor of Nest on %s',
  (platform) => {
    // Of two decorators the one nearer to the method is applied first, and its interceptor stands in front.
    const inFront = [UseInterceptors(TimeoutInterceptor), Idempotent()]
    const behind = [Idempotent(), UseInterceptors(TimeoutInterceptor)]

    test("in front: the client gets 408, and the handler's own answer is stored", async () => {
      const port = await serveNest(platform, inFront)
      expect((await post(port)).status).toBe(408)
      expect(await codeOf(await post(port))).toEqual(IN_PROGRESS)
      work.open()
      expect(await ended.opened).toBe('executed')
      const replay = await post(port)
      expect([replay.status, await replay.json()]).toEqual([201, { id: 'order_1' }])
      expect(replay.headers.get('idempotent-replayed')).toBe('true')
      expect(replay.headers.get('content-type')).toMatch(/^application\/json/)
      expect(effects).toBe(1)
    })

    test('behind: the client gets 408, and the outcome is unknown when the handler is over', async () => {
      const port = await serveNest(platform, behind)
      expect((await post(port)).status).toBe(408)
      expect(await codeOf(await post(port))).toEqual(IN_PROGRESS)
      work.open()
      expect(await ended.opened).toBe('failed')
      expect(await codeOf(await post(port))).toEqual(UNKNOWN)
      expect(effects).toBe(1)
    })

    test('one call of our client, which retries 408, has one effect', async () => {
      const port = await serveNest(platform, inFront)
      let requests = 0
      const client = createClient({
        baseUrl: `http://127.0.0.1:${port}`,
        fetch: (...args) => {
          requests++
          if (requests === 3) work.open()
          return fetch(...args)
        },
      })
      const answer = await client.post('/orders', { json: {} })
      expect(answer.response.status).toBe(201)
      expect(requests).toBeGreaterThan(2)
      expect(effects).toBe(1)
    })
  },
)

describe('Hono', () => {
  async function serve(app: Hono): Promise<number> {
    const served = await listenFetch(getRequestListener(app.fetch))
    onTestFinished(() => served.close())
    return served.port
  }

  test("stores the handler's answer after hono/timeout has answered", async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      await next()
      c.header('X-Outer', 'yes')
    })
    app.use(honoTimeout(20))
    app.post('/orders', onHono(reprise, { caller }), async (c) => {
      effects++
      c.header('X-Order', 'order_1')
      await work.opened
      return c.json({ id: 'order_1' }, 201)
    })
    const port = await serve(app)
    const first = await post(port)
    expect(first.status).toBe(504)
    expect(first.headers.get('x-outer')).toBe('yes')
    expect(first.headers.get('idempotency-stored')).toBe('false')
    expect(await codeOf(await post(port))).toEqual(IN_PROGRESS)
    work.open()
    await ended.opened
    const replay = await post(port)
    expect([replay.status, await replay.json()]).toEqual([201, { id: 'order_1' }])
    expect(replay.headers.get('x-order')).toBe('order_1')
    expect(effects).toBe(1)
  })

  test('takes a handler that returns nothing for a failure', async () => {
    const app = new Hono()
    app.onError((_error, c) => c.text('failed', 500))
    // The types forbid it.
    const nothing = (async () => void effects++) as unknown as () => Promise<Response>
    app.post('/orders', onHono(reprise, { caller }), nothing)
    const port = await serve(app)
    expect((await post(port)).status).toBe(500)
    expect(await codeOf(await post(port))).toEqual(UNKNOWN)
    expect(effects).toBe(1)
  })
})

test('Koa: keeps what the handler had set before a middleware in front answered', async () => {
  const app = new Koa()
  const late = new Gate()
  app.use(async (ctx, next) => {
    if (effects > 0) return next()
    const isLate = await Promise.race([next().then(() => false), late.opened.then(() => true)])
    if (!isLate) return
    ctx.status = 408
    ctx.set('X-By', 'front')
    ctx.body = { error: 'late' }
  })
  app.use(onKoa(reprise, { caller }))
  app.use(async (ctx) => {
    effects++
    ctx.status = 201
    ctx.set('X-Order', 'order_1')
    late.open()
    await work.opened
    ctx.body = { id: 'order_1' }
  })
  const served = await listen(app.callback())
  onTestFinished(() => served.close())
  const first = await post(served.port)
  expect([first.status, await first.json()]).toEqual([408, { error: 'late' }])
  work.open()
  await ended.opened
  const replay = await post(served.port)
  expect([replay.status, await replay.json()]).toEqual([201, { id: 'order_1' }])
  expect(replay.headers.get('x-order')).toBe('order_1')
  expect(replay.headers.get('x-by')).toBeNull()
  expect(effects).toBe(1)
})

describe('Fastify', () => {
  async function serve(app: ReturnType<typeof fastify>): Promise<number> {
    onTestFinished(() => app.close())
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    return Number(new URL(address).port)
  }

  test('keeps what the handler had set before a hook in front answered', async () => {
    const app = fastify({ forceCloseConnections: true })
    const late = new Gate()
    app.addHook('onRequest', async (_request, reply) => {
      if (effects > 0) return
      void late.opened.then(() => reply.code(503).send({ error: 'late' }))
    })
    const preHandler = onFastify(reprise, { caller })
    app.post('/orders', { preHandler }, async (_request, reply) => {
      effects++
      reply.code(201).header('X-Order', 'order_1')
      late.open()
      await work.opened
      return { id: 'order_1' }
    })
    const port = await serve(app)
    const first = await post(port)
    expect([first.status, await first.json()]).toEqual([503, { error: 'late' }])
    expect(await codeOf(await post(port))).toEqual(IN_PROGRESS)
    work.open()
    await ended.opened
    const replay = await post(port)
    expect([replay.status, await replay.json()]).toEqual([201, { id: 'order_1' }])
    expect(replay.headers.get('x-order')).toBe('order_1')
    expect(effects).toBe(1)
  })

  test('frees the key at once after a 400 of a handler that returns its reply, behind a slow hook', async () => {
    const app = fastify({ forceCloseConnections: true })
    app.addHook('onSend', async () => {
      await new Promise(setImmediate)
    })
    const preHandler = onFastify(reprise, { caller })
    app.post('/orders', { preHandler }, async (_request, reply) => {
      effects++
      reply.code(effects === 1 ? 400 : 201).send({ effects })
      return reply
    })
    const port = await serve(app)
    expect((await post(port)).status).toBe(400)
    expect((await post(port)).status).toBe(201)
  })

  test('frees the key after a 429 of a hook between protection and handler', async () => {
    const app = fastify({ forceCloseConnections: true })
    let requests = 0
    const limit = async (_request: object, reply: { code(status: number): unknown }) => {
      requests++
      if (requests === 1) {
        reply.code(429)
        throw Object.assign(new Error('too many'), { statusCode: 429 })
      }
    }
    const preHandler = [onFastify(reprise, { caller }), limit]
    app.post('/orders', { preHandler }, async (_request, reply) => {
      effects++
      return reply.code(201).send({})
    })
    const port = await serve(app)
    expect((await post(port)).status).toBe(429)
    expect((await post(port)).status).toBe(201)
  })
})

describe('a middleware in front that answers before the key is claimed', () => {
  /** Opened when the answer from in front is sent. */
  let answered: Gate
  let requests: number

  beforeEach(async () => {
    requests = 0
    answered = new Gate()
    await reprise.close({ graceMs: 0 })
    const onEvent = ({ type }: RepriseEvent) => {
      if (type === 'executed' || type === 'failed') ended.open(type)
    }
    reprise = createReprise({ store: claimedLate(), replayCache: false, onEvent })
  })

  /** A store whose first claim is decided when the client has its answer. */
  function claimedLate(): ReturnType<typeof memoryStore> {
    const store = memoryStore()
    const { claim } = store
    store.claim = async (...args) => {
      await answered.opened
      return claim.apply(store, args)
    }
    return store
  }

  async function expectBoth(port: number): Promise<void> {
    const first = await post(port)
    expect([first.status, await first.text()]).toEqual([202, 'front'])
    answered.open()
    await expect.poll(() => effects).toBe(1)
    expect(await codeOf(await post(port))).toEqual(IN_PROGRESS)
    work.open()
    expect(await ended.opened).toBe('executed')
    const replay = await post(port)
    expect([replay.status, await replay.text()]).toEqual([201, 'made'])
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(replay.headers.get('x-order')).toBe('order_1')
    expect(replay.headers.get('x-before')).toBe('yes')
    expect(replay.headers.get('x-by')).toBeNull()
    expect(effects).toBe(1)
  }

  /** Whether a request is the first one, whose answer comes from in front. */
  function isFirst(): boolean {
    requests++
    return requests === 1
  }

  test('Fastify: the client keeps that answer, the handler is not called, and the key is free', async () => {
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    app.addHook('onRequest', async (_request, reply) => {
      if (isFirst()) setImmediate(() => void reply.code(202).send('front'))
    })
    const preHandler = onFastify(reprise, { caller })
    app.post('/orders', { preHandler }, async (_request, reply) => {
      effects++
      return reply.code(201).send('made')
    })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const port = Number(new URL(address).port)
    const first = await post(port)
    expect([first.status, await first.text()]).toEqual([202, 'front'])
    answered.open()
    await expect.poll(async () => (await post(port)).status).toBe(201)
    expect(effects).toBe(1)
  })

  test("Koa: the client keeps that answer, and the handler's own is stored", async () => {
    const app = new Koa()
    app.use(async (ctx, next) => {
      ctx.set('X-Before', 'yes')
      const handled = next()
      if (!isFirst()) return handled
      ctx.status = 202
      ctx.set('X-By', 'front')
      ctx.body = 'front'
    })
    app.use(onKoa(reprise, { caller }))
    app.use(async (ctx) => {
      effects++
      await work.opened
      ctx.status = 201
      ctx.set('X-Order', 'order_1')
      ctx.body = 'made'
    })
    const served = await listen(app.callback())
    onTestFinished(() => served.close())
    await expectBoth(served.port)
  })

  test("plain Node: the client keeps that answer, and the handler's own is stored", async () => {
    const handler = onNode(reprise, { caller }, async (_request, response) => {
      effects++
      await work.opened
      response.writeHead(201, { 'X-Order': 'order_1' }).end('made')
    })
    const served = await listen((request, response) => {
      response.setHeader('X-Before', 'yes')
      handler(request, response)
      if (isFirst()) response.writeHead(202, { 'X-By': 'front' }).end('front')
    })
    onTestFinished(() => served.close())
    await expectBoth(served.port)
  })

  test("Express: the client keeps that answer, and the handler's own is stored", async () => {
    const app = express()
    app.use((_request, response, next) => {
      response.setHeader('X-Before', 'yes')
      next()
      if (isFirst()) response.status(202).setHeader('X-By', 'front').end('front')
    })
    app.post('/orders', onExpress(reprise, { caller }), async (_request, response) => {
      effects++
      await work.opened
      response.status(201).setHeader('X-Order', 'order_1').end('made')
    })
    const served = await listen(app)
    onTestFinished(() => served.close())
    await expectBoth(served.port)
  })

  test("Hono: the client keeps that answer, and the handler's own is stored", async () => {
    const app = new Hono()
    app.use(async (c, next) => {
      c.header('X-Before', 'yes')
      const handled = next()
      if (isFirst()) return new Response('front', { status: 202, headers: { 'X-By': 'front' } })
      return handled
    })
    app.post('/orders', onHono(reprise, { caller }), async (c) => {
      effects++
      await work.opened
      c.header('X-Order', 'order_1')
      return c.body('made', 201)
    })
    const served = await listenFetch(getRequestListener(app.fetch))
    onTestFinished(() => served.close())
    await expectBoth(served.port)
  })
})

test('Koa: a handler that ends its response twice after an answer from in front breaks nothing', async () => {
  const app = new Koa()
  const late = new Gate()
  app.use(async (ctx, next) => {
    if (effects > 0) return next()
    const isLate = await Promise.race([next().then(() => false), late.opened.then(() => true)])
    if (!isLate) return
    ctx.status = 408
    ctx.body = 'late'
  })
  app.use(onKoa(reprise, { caller }))
  const errors = new Gate<unknown>()
  app.use(async (ctx) => {
    effects++
    ctx.res.on('error', (error) => errors.open(Reflect.get(error, 'code')))
    late.open()
    await work.opened
    ctx.respond = false
    ctx.res.statusCode = 201
    ctx.res.end('a')
    ctx.res.end('b')
  })
  const served = await listen(app.callback())
  onTestFinished(() => served.close())
  expect((await post(served.port)).status).toBe(408)
  work.open()
  await ended.opened
  expect(await errors.opened).toBe('ERR_STREAM_WRITE_AFTER_END')
  const replay = await post(served.port)
  expect([replay.status, await replay.text()]).toEqual([201, 'a'])
})

describe('a callback that has lost track of its request', () => {
  // As the callback of a pooled connection, which belongs to whoever opened the connection.
  const elsewhere = new AsyncResource('elsewhere')
  const later = (callback: () => void) =>
    void setImmediate(() => elsewhere.runInAsyncScope(callback))

  async function expectReplay(port: number): Promise<void> {
    const first = await post(port)
    expect([first.status, await first.text()]).toEqual([201, 'made'])
    expect(await ended.opened).toBe('executed')
    const replay = await post(port)
    expect([replay.status, await replay.text()]).toEqual([201, 'made'])
    expect(replay.headers.get('x-order')).toBe('order_1')
    expect(replay.headers.get('idempotent-replayed')).toBe('true')
    expect(replay.headers.get('idempotency-stored')).toBeNull()
    expect(effects).toBe(1)
  }

  test('answers for a handler of Fastify that returns its reply', async () => {
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    const preHandler = onFastify(reprise, { caller })
    app.post('/orders', { preHandler }, async (_request, reply) => {
      effects++
      later(() => void reply.code(201).header('X-Order', 'order_1').send('made'))
      return reply
    })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    await expectReplay(Number(new URL(address).port))
  })

  test('answers for a handler of plain Node that waits for it', async () => {
    const handler = onNode(reprise, { caller }, (_request, response) => {
      effects++
      return new Promise((resolve) =>
        later(() => {
          response.writeHead(201, { 'X-Order': 'order_1' }).end('made')
          resolve()
        }),
      )
    })
    const served = await listen(handler)
    onTestFinished(() => served.close())
    await expectReplay(served.port)
  })

  test('answers for a handler of Koa that waits for it', async () => {
    const app = new Koa()
    app.use(onKoa(reprise, { caller }))
    app.use((ctx) => {
      effects++
      ctx.respond = false
      return new Promise<void>((resolve) =>
        later(() => {
          ctx.res.writeHead(201, { 'X-Order': 'order_1' }).end('made')
          resolve()
        }),
      )
    })
    const served = await listen(app.callback())
    onTestFinished(() => served.close())
    await expectReplay(served.port)
  })
})

describe('a handler that never answers', () => {
  const options = { caller, unansweredMs: 20 }

  /** Sends a request and resolves when its connection is closed. */
  async function send(port: number): Promise<void> {
    const socket = connect(port, '127.0.0.1')
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {})
    socket.write(
      'POST /orders HTTP/1.1\r\nHost: a\r\nIdempotency-Key: key-1\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}',
    )
  }

  async function expectUnknown(port: number): Promise<void> {
    await send(port)
    expect(await ended.opened).toBe('failed')
    expect(await codeOf(await post(port))).toEqual(UNKNOWN)
    expect(effects).toBe(1)
  }

  test('leaves the outcome unknown in Express, where it has destroyed its socket', async () => {
    const app = express()
    app.post('/orders', onExpress(reprise, options), (request) => {
      effects++
      request.socket.destroy()
    })
    const served = await listen(app)
    onTestFinished(() => served.close())
    await expectUnknown(served.port)
  })

  test.each([
    ['destroys its socket', true],
    ['returns', false],
  ] as const)(
    'leaves the outcome unknown in plain Node, where it %s',
    async (_what, isDestroying) => {
      const handler = onNode(reprise, options, async (request) => {
        effects++
        if (isDestroying) request.socket.destroy()
      })
      const served = await listen(handler)
      onTestFinished(() => served.close())
      await expectUnknown(served.port)
    },
  )

  test('leaves the outcome unknown in Fastify, where it has hijacked its reply', async () => {
    const app = fastify({ forceCloseConnections: true })
    onTestFinished(() => app.close())
    const preHandler = onFastify(reprise, options)
    app.post('/orders', { preHandler }, async (_request, reply) => {
      effects++
      reply.hijack()
    })
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    await expectUnknown(Number(new URL(address).port))
  })

  test('leaves the outcome unknown in Koa, where it bypasses Koa', async () => {
    const app = new Koa()
    app.use(onKoa(reprise, options))
    app.use(async (ctx) => {
      effects++
      ctx.respond = false
    })
    const served = await listen(app.callback())
    onTestFinished(() => served.close())
    await expectUnknown(served.port)
  })

  test('is waited for as long as its promise is pending', async () => {
    const handler = onNode(reprise, { ...options, unansweredMs: 0 }, async (request, response) => {
      effects++
      request.socket.destroy()
      await work.opened
      response.writeHead(201).end('made')
    })
    const served = await listen(handler)
    onTestFinished(() => served.close())
    await send(served.port)
    await expect.poll(() => effects).toBe(1)
    expect(await codeOf(await post(served.port))).toEqual(IN_PROGRESS)
    work.open()
    expect(await ended.opened).toBe('executed')
    expect((await post(served.port)).status).toBe(201)
  })
})
