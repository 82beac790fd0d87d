/**
 * The shapes that answers of Hono can have.
 *
 * @module
 */

import { gzipSync } from 'node:zlib'
import type { Handler, MiddlewareHandler } from 'hono'
import { compress } from 'hono/compress'
import { deleteCookie, setCookie } from 'hono/cookie'
import { HTTPException } from 'hono/http-exception'
import { stream, streamSSE, streamText } from 'hono/streaming'
import { atOnce, fetchShapes, slowly } from './fetch-shapes.ts'

/** A handler of Hono that answers in one shape. */
export interface HonoShape {
  readonly name: string
  readonly isStored?: boolean
  readonly isStreamed?: boolean
  /** Middleware between the protection and the handler. */
  readonly inner?: MiddlewareHandler
  readonly handler: Handler
}

const json = { 'Content-Type': 'application/json' }
const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)

/** More than thirty, by the means of Hono. */
export const ownShapes: readonly HonoShape[] = [
  { name: 'c.text', handler: (c) => c.text('Grüße 🎉') },
  { name: 'c.text with a status', handler: (c) => c.text('made', 201) },
  { name: 'c.text with headers', handler: (c) => c.text('made', 201, { Location: '/items/1' }) },
  { name: 'c.text of nothing', handler: (c) => c.text('') },
  { name: 'c.json', handler: (c) => c.json({ id: 1, name: 'Ünïcode' }) },
  { name: 'c.json with a status', handler: (c) => c.json([1, 2.5, null], 402) },
  { name: 'c.html', handler: (c) => c.html('<p>Grüße</p>') },
  { name: 'c.html of a promise', handler: (c) => c.html(Promise.resolve('<p>later</p>')) },
  { name: 'c.body of a text', handler: (c) => c.body('bare') },
  { name: 'c.body of bytes', handler: (c) => c.body(ALL_BYTES) },
  { name: 'c.body of nothing', handler: (c) => c.body(null, 201) },
  { name: 'c.body of a stream', handler: (c) => c.body(atOnce([ALL_BYTES, ALL_BYTES])) },
  { name: 'c.body of a slow stream', handler: (c) => c.body(slowly(['a', 'b', 'c', 'd'])) },
  {
    name: 'c.body of compressed bytes',
    handler: (c) => c.body(gzipSync('{}'), 200, { ...json, 'Content-Encoding': 'gzip' }),
  },
  { name: 'c.newResponse', handler: (c) => c.newResponse('[]', 203, { ...json, 'X-New': 'yes' }) },
  { name: 'a 204', handler: (c) => c.body(null, 204) },
  { name: 'a 304', handler: (c) => c.body(null, 304, { ETag: '"1"' }) },
  { name: 'c.redirect', handler: (c) => c.redirect('/there') },
  { name: 'c.redirect by 303', handler: (c) => c.redirect('/there?a=b', 303) },
  { name: 'c.notFound', handler: (c) => c.notFound() },
  {
    name: 'c.status and c.header',
    handler: (c) => {
      c.status(202)
      c.header('X-One', '1')
      c.header('Link', '</a>')
      c.header('Link', '</b>', { append: true })
      return c.json({ accepted: true })
    },
  },
  {
    name: 'cookies',
    handler: (c) => {
      setCookie(c, 'session', '1', { httpOnly: true, path: '/' })
      setCookie(c, 'theme', 'dark')
      deleteCookie(c, 'old')
      return c.text('welcome')
    },
  },
  {
    name: 'headers that inner middleware adds',
    inner: async (c, next) => {
      await next()
      c.header('X-After', 'yes')
      c.res.headers.append('Vary', 'Origin')
    },
    handler: (c) => c.json({ id: 1 }),
  },
  {
    name: 'a response that inner middleware puts in place',
    inner: async (c, next) => {
      await next()
      c.res = new Response(`[${await c.res.text()}]`, c.res)
    },
    handler: (c) => c.text('inner', 201),
  },
  {
    name: 'an answer of inner middleware',
    inner: async (c) => c.text('not further', 409),
    handler: (c) => c.text('never'),
  },
  {
    name: 'a body that inner middleware compresses',
    inner: compress({ threshold: 0 }),
    handler: (c) => c.text('x'.repeat(5000)),
  },
  {
    name: 'a stream by the helper',
    handler: (c) =>
      stream(c, async (out) => {
        await out.write(ALL_BYTES)
        await out.write('done')
      }),
  },
  {
    name: 'a text stream by the helper',
    handler: (c) =>
      streamText(c, async (out) => {
        await out.writeln('one')
        await out.writeln('two')
      }),
  },
  {
    name: 'events by the helper',
    isStreamed: true,
    handler: (c) =>
      streamSSE(c, async (out) => {
        await out.writeSSE({ data: 'one', id: '1' })
        await out.writeSSE({ data: 'two', id: '2' })
      }),
  },
  {
    name: 'an exception for HTTP',
    isStored: false,
    handler: () => {
      throw new HTTPException(403, { message: 'Not yours' })
    },
  },
  {
    name: 'an exception with its response',
    handler: () => {
      throw new HTTPException(409, { res: Response.json({ why: 'taken' }) })
    },
  },
  {
    name: 'an error',
    isStored: false,
    handler: () => {
      throw new Error('The handler failed.')
    },
  },
  {
    name: 'an error of inner middleware',
    isStored: false,
    inner: async () => {
      throw new Error('The middleware failed.')
    },
    handler: (c) => c.text('never'),
  },
]

/** More than sixty: those of Hono, and whatever else can be a `Response`. */
export const honoShapes: readonly HonoShape[] = [...ownShapes, ...fetchShapes]
