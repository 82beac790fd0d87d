/**
 * The same app on every framework: one route, its parser before or behind the protection, and a
 * handler that answers what it saw.
 *
 * @module
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer as createHttp2Server } from 'node:http2'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import formbody from '@fastify/formbody'
import { getRequestListener } from '@hono/node-server'
import { bodyParser } from '@koa/bodyparser'
import { Controller, Post, Req, Res, StreamableFile, UseInterceptors } from '@nestjs/common'
import { FileInterceptor } from '@nestjs/platform-express'
import type { NestFastifyApplication } from '@nestjs/platform-fastify'
import express from 'express'
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify'
import { type Context, Hono } from 'hono'
import Koa from 'koa'
import { idempotent as onExpress } from '../../../src/adapters/express.ts'
import { idempotent as onFastify } from '../../../src/adapters/fastify.ts'
import { idempotent as onHono } from '../../../src/adapters/hono.ts'
import { idempotent as onKoa } from '../../../src/adapters/koa.ts'
import { IdempotencyModule, Idempotent } from '../../../src/adapters/nest.ts'
import { idempotent as onNode } from '../../../src/adapters/node.ts'
import type { Reprise } from '../../../src/engine/reprise.ts'
import { listen } from '../../adapters/listen.ts'
import { appModule, createApp, decorate, listen as listenNest } from '../../adapters/nest-app.ts'
import { lookerAt } from './looks.ts'
import type { AppName, ParserName, Plan, Reading } from './plan.ts'
import type { Reply, Stage } from './scene.ts'

const require = createRequire(import.meta.url)
// Has no types of its own; as far as it is used here it is like version 5.
const express4 = createRequire(import.meta.url)('express4') as typeof express
// Nest brings it; it has no types.
const multer = createRequire(require.resolve('@nestjs/platform-express'))('multer') as () => {
  single(name: string): express.RequestHandler
}

/** What makes an app. */
export interface AppParts {
  readonly reprise: Reprise
  readonly stage: Stage
  readonly plan: Pick<Plan, 'parser' | 'place' | 'reading'>
}

/** A server that runs. */
export interface App {
  readonly port: number
  close(): Promise<void>
}

const LIMIT = '50mb'
const OPTIONS = { caller: () => 'acct_1', waitMs: 60_000, operation: 'orders' } as const

/** The apps by name. */
export const APPS: Readonly<Record<AppName, (parts: AppParts) => Promise<App>>> = {
  node: (parts) => listen(nodeListener(parts)),
  'node http2': (parts) => listenHttp2(nodeListener(parts)),
  'express 4': (parts) => serveExpress(express4, parts),
  'express 5': (parts) => serveExpress(express, parts),
  koa: serveKoa,
  fastify: (parts) => serveFastify(parts, false),
  'fastify http2': (parts) => serveFastify(parts, true),
  hono: serveHono,
  'nest express': (parts) => serveNest('express', parts),
  'nest fastify': (parts) => serveNest('fastify', parts),
}

function nodeListener({ reprise, stage, plan }: AppParts) {
  const protect = onNode(
    reprise,
    { ...OPTIONS, onError: answerError },
    async (request, response) => {
      const note = await noteFromStream(request, plan.reading)
      const look = lookerAt(request, response)
      const visit = request.headers['x-visit']
      const reply = await stage.work({ visit, note, look })
      response.writeHead(201, { 'Content-Type': 'application/json' })
      if (reply.shape === 'streamed') await pipeline(Readable.from(reply.parts()), response)
      else response.end(reply.text)
    },
  )
  return async (request: IncomingMessage, response: ServerResponse) => {
    await stage.pass('front')
    protect(request, response)
  }
}

function answerError(_error: unknown, _request: IncomingMessage, response: ServerResponse): void {
  if (!response.headersSent) response.statusCode = 500
}

async function listenHttp2(listener: ReturnType<typeof nodeListener>): Promise<App> {
  // Its requests and responses are like those of HTTP/1, as far as they are used.
  const server = createHttp2Server((request, response) => {
    void listener(request as never, response as never)
  })
  server.on('sessionError', () => {})
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    // A server on a port has an address of this kind.
    port: (server.address() as AddressInfo).port,
    close: () => new Promise((resolve) => void server.close(() => resolve())),
  }
}

async function serveExpress(framework: typeof express, parts: AppParts): Promise<App> {
  const { reprise, stage, plan } = parts
  const app = framework().set('env', 'test')
  const parsers = expressParser(framework, plan.parser)
  const front: express.RequestHandler = async (_request, _response, next) => {
    await stage.pass('front')
    next()
  }
  const protect = onExpress(reprise, OPTIONS)
  const chain =
    plan.place === 'before' ? [...parsers, front, protect] : [front, protect, ...parsers]
  const handle = async (request: express.Request, response: express.Response) => {
    const note = await noteOfExpress(request, plan)
    const look = lookerAt(request, response)
    const reply = await stage.work({ visit: request.get('X-Visit'), note, look })
    response.status(201).type('json')
    if (reply.shape === 'streamed') Readable.from(reply.parts()).pipe(response)
    else if (reply.shape === 'small') response.json(JSON.parse(reply.text))
    else response.send(reply.text)
  }
  // Version 4 does not look at what a handler returns.
  app.post('/orders', ...chain, async (request, response, next) => {
    try {
      await handle(request, response)
    } catch (error) {
      next(error)
    }
  })
  return listen(app)
}

function expressParser(framework: typeof express, parser: ParserName): express.RequestHandler[] {
  switch (parser) {
    case 'json':
      return [framework.json({ limit: LIMIT })]
    case 'urlencoded':
      return [framework.urlencoded({ limit: LIMIT, extended: false })]
    case 'raw':
      return [framework.raw({ limit: LIMIT, type: '*/*' })]
    case 'multipart':
      return [multer().single('note')]
    case 'stream':
      return []
  }
}

async function noteOfExpress(
  request: express.Request & { file?: { buffer: Buffer } },
  { parser, reading }: AppParts['plan'],
): Promise<string | undefined> {
  const body: unknown = request.body
  if (parser === 'stream') return noteFromStream(request, reading)
  if (parser === 'raw') return body instanceof Uint8Array ? Buffer.from(body).toString() : undefined
  const note = noteFrom(body)
  if (parser !== 'multipart') return note
  return amountFrom(body) === 5 ? request.file?.buffer.toString() : undefined
}

async function serveKoa({ reprise, stage, plan }: AppParts): Promise<App> {
  const app = new Koa()
  app.silent = true
  const parse = bodyParser({ jsonLimit: LIMIT, formLimit: LIMIT })
  const isParsed = plan.parser !== 'stream'
  if (isParsed && plan.place === 'before') app.use(parse)
  app.use(async (_, next) => {
    await stage.pass('front')
    await next()
  })
  app.use(onKoa(reprise, OPTIONS))
  if (isParsed && plan.place === 'behind') app.use(parse)
  app.use(async (ctx) => {
    const { body } = ctx.request as { body?: unknown }
    const note = isParsed ? noteFrom(body) : await noteFromStream(ctx.req, plan.reading)
    const look = lookerAt(ctx.req, ctx.res)
    const reply = await stage.work({ visit: ctx.get('X-Visit'), note, look })
    ctx.status = 201
    ctx.type = 'json'
    ctx.body = bodyOf(reply)
  })
  return listen(app.callback())
}

async function serveFastify({ reprise, stage, plan }: AppParts, http2: boolean): Promise<App> {
  const limits = { bodyLimit: 50 * 2 ** 20, forceCloseConnections: true }
  // The types of an app over HTTP/2 are others; what is used of it is the same.
  const app = fastify({ ...limits, ...(http2 ? { http2: true } : {}) } as typeof limits)
  if (plan.parser === 'urlencoded') await app.register(formbody, { bodyLimit: 50 * 2 ** 20 })
  if (plan.parser === 'stream') {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  }
  const front = () => stage.pass('front')
  const preHandler = [front, onFastify(reprise, OPTIONS)]
  app.post('/orders', { preHandler }, async (request, reply) => {
    const { raw, body } = request
    const isStream = plan.parser === 'stream'
    const note = isStream ? await noteFromStream(raw, plan.reading) : noteFrom(body)
    const look = lookerAt(raw, reply.raw)
    const answer = await stage.work({ visit: request.headers['x-visit'], note, look })
    return reply.code(201).type('application/json').send(bodyOf(answer))
  })
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
  return { port: Number(port), close: () => app.close() }
}

async function serveHono({ reprise, stage, plan }: AppParts): Promise<App> {
  const app = new Hono()
  app.onError((_, c) => c.text('failed', 500))
  if (plan.place === 'before') {
    app.use(async (c, next) => {
      await noteOfHono(c, plan.parser)
      await next()
    })
  }
  app.use(async (_, next) => {
    await stage.pass('front')
    await next()
  })
  app.use(onHono(reprise, OPTIONS))
  app.post('/orders', async (c) => {
    const note = await noteOfHono(c, plan.parser)
    const { signal } = c.req.raw
    const look = () => ({ 'signal.aborted': signal.aborted })
    const reply = await stage.work({ visit: c.req.header('X-Visit'), note, look })
    c.header('Content-Type', 'application/json')
    if (reply.shape !== 'streamed') return c.body(reply.text, 201)
    // Node and the browser have types of their own for it.
    const stream = Readable.toWeb(Readable.from(reply.parts()).map(bytesOfText))
    return c.body(stream as ReadableStream, 201)
  })
  return listen(getRequestListener(app.fetch))
}

function bytesOfText(text: string): Buffer {
  return Buffer.from(text)
}

async function noteOfHono(c: Context, parser: ParserName): Promise<string | undefined> {
  switch (parser) {
    case 'json':
      return noteFrom(await c.req.json())
    case 'urlencoded':
      return noteFrom(await c.req.parseBody())
    case 'raw':
      return Buffer.from(await c.req.arrayBuffer()).toString()
    case 'stream':
      return c.req.raw.text()
    case 'multipart': {
      const form = await c.req.parseBody()
      const { note } = form
      return amountFrom(form) === 5 && note instanceof File ? note.text() : undefined
    }
  }
}

type NestRequest = (express.Request & { file?: { buffer: Buffer } }) | FastifyRequest

async function serveNest(platform: 'express' | 'fastify', parts: AppParts): Promise<App> {
  const { reprise, stage, plan } = parts
  class Orders {
    async handle(
      request: NestRequest,
      response: express.Response | FastifyReply,
    ): Promise<unknown> {
      const note =
        'raw' in request ? await noteOfFastify(request, plan) : await noteOfExpress(request, plan)
      const look =
        'raw' in request && 'raw' in response
          ? lookerAt(request.raw, response.raw)
          : lookerAt(request as express.Request, response as express.Response)
      const reply = await stage.work({ visit: request.headers['x-visit'], note, look })
      if (reply.shape === 'small') return JSON.parse(reply.text)
      const type = 'application/json'
      return reply.shape === 'streamed'
        ? new StreamableFile(Readable.from(reply.parts()), { type })
        : new StreamableFile(Buffer.from(reply.text), { type })
    }
  }
  const uploads = plan.parser === 'multipart' ? [UseInterceptors(FileInterceptor('note'))] : []
  decorate(Orders, 'handle', [
    ...[Post('orders'), Idempotent(), ...uploads],
    [Req(), Res({ passthrough: true })],
  ])
  Controller()(Orders)
  const module = appModule([Orders], [IdempotencyModule.forRoot({ reprise, ...OPTIONS })])
  const bodyParser = plan.parser === 'json' || plan.parser === 'urlencoded'
  const app = await createApp(platform, module, { bodyParser })
  if (platform === 'fastify') {
    const instance = (app as NestFastifyApplication).getHttpAdapter().getInstance()
    if (!bodyParser) {
      instance.removeAllContentTypeParsers()
      instance.addContentTypeParser('*', (_request, _payload, done) => done(null))
    }
    instance.addHook('preHandler', () => stage.pass('front'))
  } else {
    if (plan.parser === 'urlencoded') app.use(express.urlencoded({ limit: LIMIT, extended: false }))
    app.use(async (_: unknown, __: unknown, next: () => void) => {
      await stage.pass('front')
      next()
    })
  }
  return { port: await listenNest(app), close: () => app.close() }
}

async function noteOfFastify(
  { raw, body }: FastifyRequest,
  { parser, reading }: AppParts['plan'],
): Promise<string | undefined> {
  return parser === 'stream' ? noteFromStream(raw, reading) : noteFrom(body)
}

/** What Koa and Fastify take for an answer. */
function bodyOf({ shape, text, parts }: Reply): string | Readable {
  return shape === 'streamed' ? Readable.from(parts(), { objectMode: false }) : text
}

/** The note of a body that a parser made an object of, where all of it is there. */
function noteFrom(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || amountFrom(body) !== 5) return undefined
  return 'note' in body && typeof body.note === 'string' ? body.note : undefined
}

function amountFrom(body: unknown): number | undefined {
  if (typeof body !== 'object' || body === null || !('amount' in body)) return undefined
  return Number(body.amount)
}

async function noteFromStream(request: IncomingMessage, reading: Reading): Promise<string> {
  const chunks: Uint8Array[] = []
  switch (reading) {
    case 'iteration':
      for await (const chunk of request) chunks.push(chunk)
      break
    case 'events':
      await new Promise<void>((resolve, reject) => {
        request.on('data', (chunk: Buffer) => chunks.push(chunk))
        request.once('end', resolve).once('error', reject)
        request.once('aborted', () => reject(new Error('The client is gone')))
      })
      break
    case 'web stream':
      for await (const chunk of Readable.toWeb(request)) chunks.push(chunk)
      break
    case 'pipeline': {
      const through = new PassThrough()
      through.on('data', (chunk: Buffer) => chunks.push(chunk))
      await pipeline(request, through)
      break
    }
  }
  return Buffer.concat(chunks).toString()
}
