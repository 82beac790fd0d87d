import { PassThrough, Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import Koa, { type Context, type Middleware } from 'koa'
import { expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/koa.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { bodyOf, exchangeBytes } from './differential.ts'
import { CLOSE, gate, post, serving, settled } from './node-world.ts'

type Handler = (ctx: Context) => unknown

/** An app with one middleware in front of the protection. */
async function app(front: Middleware, handler: Handler, isProtected = true): Promise<number> {
  const koa = new Koa()
  koa.on('error', () => {})
  koa.use(front)
  const reprise = createReprise({ store: memoryStore() })
  if (isProtected) koa.use(idempotent(reprise, { caller: () => 'me' }))
  koa.use((ctx) => handler(ctx) as Promise<void>)
  return (await serving(koa.callback())).port
}

const OWN = /^(?:Date|Idempot\S+|Content-Length|Transfer-Encoding): .*\r\n/gm

/** What is answered without protection, first and again, without our own marks. */
async function answers(front: Middleware, handler: Handler): Promise<readonly string[]> {
  let effects = 0
  const counted: Handler = (ctx) => {
    effects++
    return handler(ctx)
  }
  const plain = await exchangeBytes(await app(front, handler, false), post({ lines: CLOSE }))
  const port = await app(front, counted)
  const first = await exchangeBytes(port, post({ lines: CLOSE }))
  const again = await exchangeBytes(port, post({ lines: CLOSE }))
  expect(effects).toBe(1)
  expect(again).toContain('Idempotent-Replayed: true')
  return [plain, first, again].map((bytes) => {
    const [head = ''] = bytes.split('\r\n\r\n')
    return `${head}\r\n`.replace(OWN, '') + bodyOf(bytes)
  })
}

const handlers: Readonly<Record<string, Handler>> = {
  'a text': (ctx) => {
    ctx.body = 'text'
  },
  'a value': (ctx) => {
    ctx.status = 201
    ctx.body = { id: 1, name: 'ü' }
  },
  'a text that is JSON': (ctx) => {
    ctx.type = 'json'
    ctx.body = '{"id": 1}'
  },
  bytes: (ctx) => {
    ctx.body = Buffer.from('bytes')
  },
  'a stream': (ctx) => {
    ctx.type = 'text'
    ctx.body = Readable.from(['one', 'two'])
  },
  'no body, only a status': (ctx) => {
    ctx.status = 202
  },
  'a 404 that was set': (ctx) => {
    ctx.status = 404
  },
  nothing: () => {},
  null: (ctx) => {
    ctx.status = 200
    ctx.body = null
  },
  'a 204': (ctx) => {
    ctx.status = 204
  },
  'a message of its own': (ctx) => {
    ctx.status = 201
    ctx.message = 'Quite Fine'
    ctx.body = 'fine'
  },
  'two lines of one header': (ctx) => {
    ctx.append('Link', '</a>')
    ctx.append('Link', '</b>')
    ctx.body = 'links'
  },
  'compressed bytes': (ctx) => {
    ctx.set('Content-Encoding', 'gzip')
    ctx.body = gzipSync('bytes')
  },
  'an error': (ctx) => ctx.throw(402, 'card declined'),
  'an answer by hand': (ctx) => {
    ctx.respond = false
    ctx.res.writeHead(201, 'By Hand', { 'X-Hand': '1' }).end('by hand')
  },
}

const fronts: Readonly<Record<string, Middleware>> = {
  'reads the type': async (ctx, next) => {
    await next()
    ctx.set('X-Type', ctx.type || 'none')
  },
  'changes texts': async (ctx, next) => {
    await next()
    if (typeof ctx.body === 'string') ctx.body = `${ctx.body}!`
  },
  'puts everything into an envelope': async (ctx, next) => {
    await next()
    const { body } = ctx
    ctx.body = { status: ctx.status, kind: typeof body, data: body instanceof Readable ? 1 : body }
  },
  'renders errors': async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      ctx.status = 402
      ctx.body = { error: String(error) }
    }
  },
}

for (const [name, front] of Object.entries(fronts)) {
  for (const [what, handler] of Object.entries(handlers)) {
    it(`Koa: a middleware in front that ${name} does the same to the replay of ${what}`, async () => {
      const [plain, first, again] = await answers(front, handler)
      expect(first).toBe(plain)
      expect(again).toBe(plain)
    })
  }
}

for (const when of ['before the handler runs', 'while the handler runs']) {
  it(`Koa: an early answer of a middleware in front, ${when}, is sent, and that of the handler is stored`, async () => {
    const began = gate()
    const late = gate()
    const isBefore = when.startsWith('before')
    const port = await app(
      async (ctx, next) => {
        const handled = next()
        if (ctx.get('x-early') === '') return handled
        if (!isBefore) await began.passed
        ctx.status = 202
        ctx.body = 'early'
        handled.catch(() => {})
      },
      async (ctx) => {
        began.open()
        await late.passed
        ctx.status = 201
        ctx.body = 'from behind'
      },
    )
    const early = await exchangeBytes(port, post({ lines: `${CLOSE}X-Early: 1\r\n` }))
    expect(early).toContain('202 Accepted')
    if (!isBefore) expect(early).toContain('Idempotency-Stored: false')
    expect(await exchangeBytes(port, post({ lines: CLOSE }))).toContain('idempotency-in-progress')
    late.open()
    const again = await settled(port, post({ lines: CLOSE }))
    expect(again).toContain('201 Created')
    expect(again).toContain('from behind')
  })
}

it('Koa: a stream that is longer than what is kept goes through the middleware in front', async () => {
  const koa = new Koa()
  koa.use(async (ctx, next) => {
    await next()
    if (ctx.body instanceof Readable) ctx.body = ctx.body.pipe(new PassThrough())
  })
  koa.use(
    idempotent(createReprise({ store: memoryStore() }), { caller: () => 'me', bodyBytesMax: 8 }),
  )
  koa.use((ctx) => {
    ctx.type = 'text'
    ctx.body = Readable.from(['one', 'two', 'three', 'four'])
  })
  const { port } = await serving(koa.callback())
  const first = await exchangeBytes(port, post({ lines: CLOSE }))
  expect(first).toMatch(/one[\s\S]*two[\s\S]*three[\s\S]*four/)
  expect(first).toContain('Idempotency-Stored: false')
  const again = await exchangeBytes(port, post({ lines: CLOSE }))
  expect(again).toContain('Idempotency-Body-Omitted')
})
