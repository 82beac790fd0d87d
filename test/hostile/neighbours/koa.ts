/**
 * Koa.
 *
 * @module
 */

import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { bodyParser } from '@koa/bodyparser'
import Koa, { type Context, type Middleware } from 'koa'
import { listen } from '../../adapters/listen.ts'
import { missing } from './express.ts'
import { load } from './packages.ts'
import { type Framework, piecesIn, type Serving, textIn, valueIn, type World } from './world.ts'

const MAKERS: Readonly<Record<string, (app: Koa) => Promise<Middleware>>> = {
  'koa-compress': async () => (await load('koa-compress'))(),
  'koa-compress of everything': async () => (await load('koa-compress'))({ threshold: 0 }),
  'koa-session': async (app) => {
    const session: Middleware = (await load('koa-session'))({ signed: false }, app)
    return (ctx, next) =>
      session(ctx, async () => {
        Object.assign(ctx['session'] ?? {}, { visits: 1 })
        await next()
      })
  },
  'koa-helmet': async () => (await load('koa-helmet'))(),
  '@koa/cors': async () => (await load('@koa/cors'))({ credentials: true }),
  '@koa/etag': async () => (await load('@koa/etag'))(),
  'koa-conditional-get': async () => (await load('koa-conditional-get'))(),
  'koa-logger': async () => (await load('koa-logger'))({ transporter: () => {} }),
  'koa-ratelimit': async () => {
    const db = new Map()
    return (await load('koa-ratelimit'))({ driver: 'memory', db, max: 1000, id: () => 'me' })
  },
  'koa-response-time': async () => (await load('koa-response-time'))(),
  '@koa/bodyparser': async () => bodyParser(),
  'a log that reads the type': async () => async (ctx, next) => {
    await next()
    ctx.set('X-Logged', `${ctx.status} ${ctx.type} ${ctx.length ?? '-'}`)
  },
  envelope: async () => async (ctx, next) => {
    await next()
    if (ctx.body != null && !(ctx.body instanceof Readable) && !Buffer.isBuffer(ctx.body)) {
      ctx.body = { data: ctx.body }
    }
  },
  'more text': async () => async (ctx, next) => {
    await next()
    if (typeof ctx.body === 'string') ctx.body += '!'
  },
  'rendered errors': async () => async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const status: unknown = Reflect.get(Object(error), 'status')
      ctx.status = typeof status === 'number' ? status : 500
      ctx.body = { error: String(error) }
    }
  },
}

type Way = (ctx: Context, world: World) => unknown

const WAYS: Readonly<Record<string, Way>> = {
  json: (ctx, world) => {
    ctx.status = 201
    ctx.body = valueIn(world)
  },
  text: (ctx, world) => {
    ctx.body = textIn(world)
  },
  buffer: (ctx, world) => {
    ctx.type = 'text/plain'
    ctx.body = Buffer.from(textIn(world))
  },
  'empty 204': (ctx) => {
    ctx.status = 204
  },
  'status only': (ctx) => {
    ctx.status = 202
  },
  nothing: () => {},
  stream: (ctx, world) => {
    ctx.type = 'text/plain'
    ctx.body = Readable.from(piecesIn(world))
  },
  file: (ctx) => {
    ctx.type = 'json'
    ctx.body = createReadStream(join(import.meta.dirname, 'package.json'))
  },
  'writeHead, write, end': (ctx, world) => {
    ctx.respond = false
    ctx.res.writeHead(201, { 'Content-Type': 'text/plain', 'X-Head': '1' })
    for (const piece of piecesIn(world)) ctx.res.write(piece)
    ctx.res.end()
  },
  'a message': (ctx, world) => {
    ctx.status = 200
    ctx.message = 'Quite Fine'
    ctx.body = valueIn(world)
  },
  'several cookies': (ctx, world) => {
    ctx.cookies.set('a', '1')
    ctx.cookies.set('b', '2')
    ctx.body = valueIn(world)
  },
  redirect: (ctx) => {
    ctx.status = 303
    ctx.redirect('/elsewhere')
  },
  'throw 402': (ctx) => ctx.throw(402, 'card declined'),
  'throw 500': () => {
    throw new Error('the handler fails')
  },
  'late json': async (ctx, world) => {
    await new Promise((resolve) => setImmediate(resolve))
    ctx.body = valueIn(world)
  },
  'strong etag': (ctx, world) => {
    ctx.etag = 'v1'
    ctx.body = valueIn(world)
  },
}

export const koa: Framework = {
  name: 'Koa',
  neighbours: Object.keys(MAKERS),
  ways: Object.keys(WAYS),
  async serve({ world, reprise, adapters, onEffect }: Serving) {
    const app = new Koa()
    app.on('error', () => {})
    for (const name of world.before) app.use(await (MAKERS[name]?.(app) ?? missing(name)))
    if (reprise !== null) {
      app.use(adapters.onKoa(reprise, { caller: () => 'me' }))
    }
    for (const name of world.behind) app.use(await (MAKERS[name]?.(app) ?? missing(name)))
    app.use(async (ctx) => {
      onEffect()
      await WAYS[world.way]?.(ctx, world)
    })
    return listen(app.callback())
  },
}
