import { createReadStream } from 'node:fs'
import { PassThrough, Readable } from 'node:stream'
import { createGzip, gzipSync } from 'node:zlib'
import type { Context } from 'koa'
import type { Shape } from './differential.ts'

type Handler = (ctx: Context) => void | Promise<void>

/** A handler that only sets the body. */
function body(value: () => unknown): Handler {
  return (ctx) => {
    ctx.body = value()
  }
}

/** A handler that answers by itself. */
function byHand(handle: (res: Context['res']) => void): Handler {
  return (ctx) => {
    ctx.respond = false
    handle(ctx.res)
  }
}

const webStream = () => Readable.toWeb(Readable.from(['one', 'two']))

export const koaShapes: readonly Shape<Handler>[] = [
  { name: 'a text', handler: body(() => 'grüße') },
  { name: 'a text that looks like HTML', handler: body(() => '<p>grüße</p>') },
  { name: 'an empty text', handler: body(() => '') },
  { name: 'a Buffer', handler: body(() => Buffer.from([0, 128, 255])) },
  { name: 'an empty Buffer', handler: body(() => Buffer.alloc(0)) },
  { name: 'an object', handler: body(() => ({ a: 1, b: 'ü' })) },
  { name: 'a list', handler: body(() => [1, 2]) },
  { name: 'a number', handler: body(() => 5) },
  { name: 'null', handler: body(() => null) },
  { name: 'undefined', handler: body(() => undefined) },
  { name: 'nothing at all, a 404', handler: () => {} },
  { name: 'a stream', handler: body(() => Readable.from(['one', 'two'])) },
  { name: 'an empty stream', handler: body(() => Readable.from([])) },
  { name: 'a file', handler: body(() => createReadStream(import.meta.filename)) },
  {
    name: 'a long stream with backpressure',
    handler: body(() => Readable.from(Array(80).fill(Buffer.alloc(10_000)))),
  },
  { name: 'a ReadableStream', handler: body(webStream) },
  { name: 'a Blob', handler: body(() => new Blob(['blob'])) },
  {
    name: 'a Response',
    handler: body(() => new Response('answer', { status: 201, headers: { 'X-One': '1' } })),
  },
  {
    name: 'a stream of known length',
    handler(ctx) {
      ctx.length = 6
      ctx.body = Readable.from(['onetwo'])
    },
  },
  {
    name: 'a compressed stream',
    handler(ctx) {
      ctx.set('Content-Encoding', 'gzip')
      ctx.type = 'text'
      ctx.body = Readable.from(['compressed']).pipe(createGzip())
    },
  },
  {
    name: 'compressed bytes',
    handler(ctx) {
      ctx.set('Content-Encoding', 'gzip')
      ctx.body = gzipSync('bytes')
    },
  },
  {
    name: 'a status without a body',
    handler(ctx) {
      ctx.status = 202
    },
  },
  {
    name: 'a status and an object',
    handler(ctx) {
      ctx.status = 201
      ctx.body = { id: 1 }
    },
  },
  {
    name: 'a message of its own',
    handler(ctx) {
      ctx.status = 200
      ctx.message = 'Quite Fine'
      ctx.body = 'ok'
    },
  },
  {
    name: 'a 204',
    handler(ctx) {
      ctx.status = 204
    },
  },
  {
    name: 'a 204 with a body',
    handler(ctx) {
      ctx.body = 'not sent'
      ctx.status = 204
    },
  },
  {
    name: 'a 205',
    handler(ctx) {
      ctx.status = 205
      ctx.body = 'not sent'
    },
  },
  {
    name: 'a 304',
    handler(ctx) {
      ctx.etag = 'v'
      ctx.status = 304
    },
  },
  {
    name: 'a 200 with an explicit null',
    handler(ctx) {
      ctx.body = null
      ctx.status = 200
    },
  },
  { name: 'a redirect', handler: (ctx) => ctx.redirect('/elsewhere?a=ü') },
  {
    name: 'a redirect for a browser',
    lines: ['Accept: text/html'],
    handler(ctx) {
      ctx.status = 303
      ctx.redirect('/elsewhere')
    },
  },
  {
    name: 'an attachment',
    handler(ctx) {
      ctx.attachment('overview.csv')
      ctx.body = 'a;b'
    },
  },
  {
    name: 'cookies',
    handler(ctx) {
      ctx.cookies.set('a', '1')
      ctx.cookies.set('b', '2', { httpOnly: false, path: '/x' })
      ctx.body = 'welcome'
    },
  },
  {
    name: 'headers of several kinds',
    handler(ctx) {
      ctx.set({ 'X-One': '1', 'X-Two': ['a', 'b'] })
      ctx.append('Link', '</a>')
      ctx.append('Link', '</b>')
      ctx.vary('Origin')
      ctx.lastModified = new Date(0)
      ctx.type = 'application/vnd.api+json'
      ctx.body = '{}'
    },
  },
  {
    name: 'a type that is removed',
    handler(ctx) {
      ctx.body = 'text'
      ctx.remove('Content-Type')
    },
  },
  {
    name: 'a head that is flushed',
    handler(ctx) {
      ctx.status = 200
      ctx.type = 'text'
      ctx.flushHeaders()
      ctx.body = Readable.from(['late'])
    },
  },
  {
    name: 'a part that is written first',
    handler(ctx) {
      ctx.res.write('first ')
      ctx.body = 'second'
    },
  },
  { name: 'an answer by hand', handler: byHand((res) => res.writeHead(201).end('by hand')) },
  {
    name: 'an answer by hand that comes later',
    handler: byHand((res) => void setImmediate(() => res.end('later'))),
  },
  {
    name: 'a stream piped by hand',
    handler: byHand((res) => void Readable.from(['piped']).pipe(res)),
  },
  {
    name: 'trailers',
    handler: byHand((res) => {
      res.writeHead(200, { Trailer: 'X-Sum' }).write('body')
      res.addTrailers({ 'X-Sum': '1' })
      res.end()
    }),
  },
  { name: 'ctx.throw of a 402', handler: (ctx) => ctx.throw(402, 'card declined') },
  {
    name: 'ctx.throw with headers',
    handler: (ctx) => ctx.throw(409, 'taken', { headers: { 'X-Two': '2' } }),
  },
  { name: 'ctx.throw of a 400', isUnkept: true, handler: (ctx) => ctx.throw(400) },
  {
    name: 'ctx.assert',
    handler: (ctx) => ctx.assert(ctx.get('x-none'), 404, 'no such thing'),
  },
  {
    name: 'an error thrown',
    isUnkept: true,
    handler(ctx) {
      ctx.set('X-Gone', '1')
      throw new Error('thrown')
    },
  },
  {
    name: 'an error thrown later',
    isUnkept: true,
    async handler() {
      await Promise.resolve()
      throw new Error('thrown later')
    },
  },
  {
    name: 'a file that is not there',
    isUnkept: true,
    isCut: true,
    handler: body(() => createReadStream('/nowhere')),
  },
]

/** Shapes that are sent in part without protection. */
export const koaBroken: readonly Shape<Handler>[] = [
  {
    name: 'a stream that fails half way',
    handler: body(() => {
      const source = new PassThrough()
      source.write('some')
      setImmediate(() => source.destroy(new Error('the source fails')))
      return source
    }),
  },
]
