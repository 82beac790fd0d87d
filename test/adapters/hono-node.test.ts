/**
 * Hono on Node's server, whose requests and responses are light ones: what is read of them, and that
 * they stay light.
 *
 * @module
 */

import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { idempotent } from '../../src/adapters/hono.ts'
import type { RepriseEvent } from '../../src/engine/events.ts'
import { createReprise, memoryStore } from '../../src/index.ts'
import { bytesOf, Sending } from '../../src/testing/adapter/raw-client.ts'
import { Gate } from '../../src/testing/adapter/world.ts'
import type { Served } from '../../src/testing/adapter-contract.ts'
import { describeAdapter } from './describe.ts'
import { listen } from './fetch-bridge.ts'
import { contractApp } from './hono-app.ts'

describeAdapter(
  "Hono on Node's server",
  {
    serve(spec) {
      const errors: unknown[] = []
      return listen(getRequestListener(contractApp(spec, errors).fetch), errors)
    },
    // The options of this adapter are given Hono's context.
    header: (c, name) => (c as Context).req.header(name),
  },
  // It frames a stream that somebody else has read a copy of by other rules.
  /sends (?:an empty stream|a file) as without/,
)

const open: Served[] = []
afterEach(async () => {
  vi.restoreAllMocks()
  await Promise.all(open.splice(0).map((served) => served.close()))
})

/** Serves one route that answers with what `read` finds; says what a body is answered with. */
async function serving(
  read: (c: Context) => unknown,
  before: MiddlewareHandler = (_, next) => next(),
  caller: (c: Context) => string = () => 'acct_1',
): Promise<(body: string, headers?: readonly [string, string][]) => Promise<string>> {
  const app = new Hono().use(before)
  app.use(idempotent(createReprise({ store: memoryStore() }), { caller }))
  app.post('/items', async (c) => c.text(String(await read(c)), 201))
  const served = await listen(getRequestListener(app.fetch))
  open.push(served)
  return async (body, headers = []) => {
    const key: [string, string] = ['Idempotency-Key', 'key-1']
    const message = { method: 'POST', path: '/items', headers: [key, ...headers], body }
    const answer = await new Sending(served.port, bytesOf(message)).answer
    const isReplay = answer.header('idempotent-replayed') === 'true'
    return `${answer.status}${isReplay ? ' again' : ''}: ${answer.text}`
  }
}

/** The request that the server was given. */
function incomingOf(c: Context): IncomingMessage {
  // So the server says.
  return (c.env as { incoming: IncomingMessage }).incoming
}

describe('a key with a comma and a space', () => {
  const send = async (lines: readonly string[], before?: MiddlewareHandler) => {
    const app = new Hono()
    if (before !== undefined) app.use(before)
    app.use(idempotent(createReprise({ store: memoryStore() }), { caller: () => 'acct_1' }))
    app.post('/items', (c) => c.text('done', 201))
    const served = await listen(getRequestListener(app.fetch))
    open.push(served)
    const headers = lines.map((line): [string, string] => ['Idempotency-Key', line])
    const message = { method: 'POST', path: '/items', headers, body: '' }
    return (await new Sending(served.port, bytesOf(message)).answer).status
  }

  test("is one key in one line, as Node's server has the lines", async () => {
    expect(await send(['"key, 1"'])).toBe(201)
    expect(await send(['"key', '1"'])).toBe(400)
  })

  test('is refused where a middleware has set it, because nobody knows the lines', async () => {
    const set: MiddlewareHandler = (c, next) => {
      const headers = new Headers(c.req.raw.headers)
      headers.set('Idempotency-Key', '"key, 1"')
      c.req.raw = new Request(c.req.raw, { headers })
      return next()
    }
    expect(await send(['"key-1"'], set)).toBe(400)
  })
})

describe('a body that comes with its head', () => {
  const readers: Readonly<Record<string, (c: Context) => unknown>> = {
    'c.req.text()': (c) => c.req.text(),
    'c.req.json()': async (c) => JSON.stringify(await c.req.json()),
    'c.req.arrayBuffer()': async (c) => Buffer.from(await c.req.arrayBuffer()),
    'c.req.blob()': async (c) => (await c.req.blob()).text(),
    'the raw request': (c) => c.req.raw.text(),
    'a copy of the raw request': (c) => c.req.raw.clone().text(),
    'the stream of the raw request': (c) => new Response(c.req.raw.body).text(),
    'the request of Node': async (c) => Buffer.concat(await incomingOf(c).toArray()),
  }

  test.each(Object.entries(readers))('is there for whoever reads %s', async (_, read) => {
    const send = await serving(read)
    expect(await send('{"a":"Grüße"}')).toBe('201: {"a":"Grüße"}')
    expect(await send('{"a":"Grüße"}')).toBe('201 again: {"a":"Grüße"}')
    expect(await send('{"a":1}')).toMatch(/^422: /)
  })

  test('is there for forms', async () => {
    const send = await serving(async (c) => JSON.stringify(await c.req.parseBody()))
    const type: [string, string] = ['Content-Type', 'application/x-www-form-urlencoded']
    expect(await send('a=1&b=2', [type])).toBe('201: {"a":"1","b":"2"}')
    expect(await send('b=2&a=1', [type])).toMatch(/^201 again/)
  })

  test('may be empty', async () => {
    const send = await serving((c) => c.req.raw.text())
    expect(await send('')).toBe('201: ')
    expect(await send('')).toBe('201 again: ')
    expect(await send('more')).toMatch(/^422: /)
  })

  test('is that of the request, not of the one it was made for', async () => {
    const reprise = createReprise({ store: memoryStore() })
    const inner = new Hono().use(idempotent(reprise, { caller: () => 'acct_1' }))
    inner.post('/inner', async (c) => c.text(await c.req.text()))
    const headers = { 'Idempotency-Key': 'key-2' }
    const call = async (body: string, c: Context) =>
      (await inner.request('/inner', { method: 'POST', body, headers }, c.env)).status
    const seen: number[] = []
    const send = await serving(
      () => 'done',
      async (c, next) => {
        seen.push(await call('one', c), await call('two', c))
        await next()
      },
    )
    expect(await send('outer')).toBe('201: done')
    expect(seen).toEqual([200, 422])
  })

  test('is left to those who have begun to read a copy of it', async () => {
    let copied = ''
    const send = await serving(
      (c) => c.req.text(),
      async (c, next) => {
        const copy = c.req.raw.clone()
        await next()
        copied = await copy.text()
      },
    )
    expect(await send('hello')).toBe('201: hello')
    expect(copied).toBe('hello')
  })

  test('is left to those who are about to read a copy of it', async () => {
    let copy: Promise<string> | undefined
    const caller = (c: Context) => {
      copy ??= c.req.raw.clone().text()
      return 'acct_1'
    }
    const send = await serving((c) => c.req.raw.text(), undefined, caller)
    expect(await send('hello')).toBe('201: hello')
    expect(await copy).toBe('hello')
  })

  test('becomes no stream, and has no signal made for it, neither when it runs nor when it is repeated', async () => {
    const streams = vi.spyOn(globalThis, 'ReadableStream')
    const signals = vi.spyOn(globalThis, 'AbortController')
    onTestFinished(() => {
      streams.mockRestore()
      signals.mockRestore()
    })
    const send = await serving((c) => c.req.text())
    expect([await send('a'), await send('a')]).toEqual(['201: a', '201 again: a'])
    expect([streams.mock.calls, signals.mock.calls]).toEqual([[], []])
  })
})

describe('a client that half-closes its connection when it has sent its request', () => {
  /** Sends a request, ends this side of the connection while the handler works, and asks again. */
  async function halfClosing(isAllowed: boolean) {
    let effects = 0
    const working = new Gate()
    const work = new Gate()
    const stored = new Gate()
    const onEvent = ({ type }: RepriseEvent) => void (type === 'executed' && stored.open())
    const app = new Hono()
    const reprise = createReprise({ store: memoryStore(), onEvent })
    app.use(idempotent(reprise, { caller: () => 'acct_1' }))
    app.post('/items', async (c) => {
      effects++
      working.open()
      await work.opened
      return c.text(`made ${effects}`, 201)
    })
    const listener = getRequestListener(app.fetch)
    const server = createServer((request, response) => void listener(request, response))
    // Node has no types for it.
    Object.assign(server, { httpAllowHalfOpen: isAllowed })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => server.close().closeAllConnections())
    // A server on a port has an address of this kind.
    const { port } = server.address() as AddressInfo
    const message = {
      ...{ method: 'POST', path: '/items', headers: [['Idempotency-Key', 'key-1']], body: '{}' },
    } satisfies Parameters<typeof bytesOf>[0]
    const client = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
    client.write(bytesOf(message))
    await working.opened
    client.end()
    let told = ''
    client.setEncoding('latin1').on('data', (chunk: string) => {
      told += chunk
    })
    if (!isAllowed) await once(client, 'end')
    work.open()
    await stored.opened
    const again = await new Sending(port, bytesOf(message)).answer
    if (isAllowed && !client.readableEnded) await once(client, 'end')
    client.destroy()
    const isReplay = again.header('idempotent-replayed') === 'true'
    return { effects, told, again: `${again.status} ${again.text}`, isReplay }
  }

  test('gets no answer, and its retry gets that of the one run', async () => {
    const ended = { effects: 1, told: '', again: '201 made 1', isReplay: true }
    expect(await halfClosing(false)).toEqual(ended)
  })

  test('gets the answer where the server keeps such connections open', async () => {
    const { told, ...rest } = await halfClosing(true)
    expect(told).toMatch(/^HTTP\/1.1 201 [^]*made 1/)
    expect(rest).toEqual({ effects: 1, again: '201 made 1', isReplay: true })
  })
})
