/**
 * Hono, with the middleware that it brings.
 *
 * @module
 */

import { getRequestListener } from '@hono/node-server'
import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { bodyLimit } from 'hono/body-limit'
import { compress } from 'hono/compress'
import { setCookie } from 'hono/cookie'
import { cors } from 'hono/cors'
import { etag } from 'hono/etag'
import { HTTPException } from 'hono/http-exception'
import { logger } from 'hono/logger'
import { prettyJSON } from 'hono/pretty-json'
import { requestId } from 'hono/request-id'
import { secureHeaders } from 'hono/secure-headers'
import { stream } from 'hono/streaming'
import { timeout } from 'hono/timeout'
import { timing } from 'hono/timing'
import { listen } from '../../adapters/listen.ts'
import { missing } from './express.ts'
import { type Framework, piecesIn, type Serving, textIn, valueIn, type World } from './world.ts'

const MAKERS: Readonly<Record<string, () => MiddlewareHandler>> = {
  compress: () => compress(),
  'compress of everything': () => compress({ threshold: 0 }),
  etag: () => etag(),
  cors: () => cors({ origin: (origin) => origin, credentials: true }),
  'secure-headers': () => secureHeaders(),
  logger: () => logger(() => {}),
  timeout: () => timeout(60_000),
  timing: () => timing(),
  'body-limit': () => bodyLimit({ maxSize: 100_000 }),
  'pretty-json': () => prettyJSON({ force: true }),
  'request-id': () => requestId(),
  envelope: () => async (c, next) => {
    await next()
    if (!/json/.test(c.res.headers.get('Content-Type') ?? '')) return
    const { status, headers } = c.res
    const body = JSON.stringify({ data: await c.res.json() })
    c.res = new Response(body, { status, headers })
  },
  'a header for every answer': () => async (c, next) => {
    c.header('X-Neighbour', 'before')
    await next()
    c.res.headers.append('Link', '</help>; rel=help')
  },
}

type Way = (c: Context, world: World) => Response | Promise<Response>

const WAYS: Readonly<Record<string, Way>> = {
  json: (c, world) => c.json(valueIn(world), 201),
  text: (c, world) => c.text(textIn(world)),
  buffer: (c, world) =>
    c.body(new Uint8Array(Buffer.from(textIn(world))), 200, { 'Content-Type': 'text/plain' }),
  'empty 204': (c) => c.body(null, 204),
  stream: (c, world) => {
    c.header('Content-Type', 'text/plain')
    return stream(c, async (out) => {
      for (const piece of piecesIn(world)) await out.write(new Uint8Array(piece))
    })
  },
  'a Response': (_, world) =>
    new Response(textIn(world), { status: 201, headers: { 'X-Own': '1', 'Content-Type': 'a/b' } }),
  'a Response with its length': (_, world) => {
    const bytes = Buffer.from(textIn(world))
    const headers = { 'Content-Length': `${bytes.byteLength}`, 'Content-Type': 'text/plain' }
    return new Response(bytes, { headers })
  },
  'several cookies': (c, world) => {
    setCookie(c, 'a', '1')
    setCookie(c, 'b', '2')
    return c.json(valueIn(world))
  },
  redirect: (c) => c.redirect('/elsewhere', 303),
  'throw 402': () => {
    throw new HTTPException(402, { message: 'card declined' })
  },
  'throw 500': () => {
    throw new Error('the handler fails')
  },
  'late json': async (c, world) => {
    await new Promise((resolve) => setImmediate(resolve))
    return c.json(valueIn(world))
  },
  'strong etag': (c, world) => {
    c.header('ETag', '"v1"')
    return c.json(valueIn(world))
  },
}

export const hono: Framework = {
  name: 'Hono',
  neighbours: Object.keys(MAKERS),
  ways: Object.keys(WAYS),
  async serve({ world, reprise, adapters, onEffect }: Serving) {
    const app = new Hono()
    app.onError((error, c) =>
      error instanceof HTTPException ? error.getResponse() : c.text('failed', 500),
    )
    for (const name of world.before) app.use((MAKERS[name] ?? missing(name))())
    if (reprise !== null) {
      app.use(adapters.onHono(reprise, { caller: () => 'me' }))
    }
    for (const name of world.behind) app.use((MAKERS[name] ?? missing(name))())
    app.post('/t', (c) => {
      onEffect()
      return (WAYS[world.way] ?? missing(world.way))(c, world)
    })
    return listen(getRequestListener(app.fetch, { overrideGlobalObjects: false }))
  },
}
