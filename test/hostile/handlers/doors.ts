/**
 * The ways in which a request comes to a program: each adapter on a server of its own, and the engine
 * itself.
 *
 * @module
 */

import {
  Agent,
  createServer,
  request as httpRequest,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import { fastify } from 'fastify'
import { type Context, Hono } from 'hono'
import Koa from 'koa'
import { idempotent as onExpress, runOf } from '../../../src/adapters/express.ts'
import { idempotent as onFastify } from '../../../src/adapters/fastify.ts'
import { idempotent as onFetch } from '../../../src/adapters/fetch.ts'
import { idempotent as onHono } from '../../../src/adapters/hono.ts'
import { idempotent as onKoa } from '../../../src/adapters/koa.ts'
import type { CapturedResponse } from '../../../src/core/response.ts'
import type { RunResult } from '../../../src/engine/result.ts'
import { isRepriseError } from '../../../src/index.ts'
import { advance, operation, phase, respond } from '../../../src/phases/index.ts'
import type { Adapter, Body, Mode } from './program.ts'
import { type Play, requestOf, type Scene, type Shared } from './run.ts'
import { BODY_BYTES_MAX, type Tx } from './world.ts'

/** What a client was told. */
export interface Told {
  /** `null` when the connection broke before an answer was whole. */
  readonly status: number | null
  readonly body: string
  readonly isReplay: boolean
  /** The code of a refusal or failure of ours. */
  readonly code: string | null
}

/** A way in. */
export interface Door {
  /** Sends a request; a client without patience hangs up after so many milliseconds. */
  send(play: Play, patienceMs: number | null): Promise<Told>
  close(): Promise<void>
}

/** Finds the program of a key. */
export type FindPlay = (key: string) => Play

/** The client was told nothing, and its connection was not cut either. */
export const UNANSWERED: Told = { status: null, body: '', isReplay: false, code: null }

const CUT: Told = { status: null, body: '', isReplay: false, code: null }
const KEY = 'x-play'

/** Opens the door of an adapter in a mode. */
export async function openDoor(
  { adapter, mode }: { readonly adapter: Adapter; readonly mode: Mode },
  shared: Shared,
  find: FindPlay,
): Promise<Door> {
  if (mode === 'phases') return phasesDoor(shared)
  switch (adapter) {
    case 'run':
      return engineDoor(shared, mode)
    case 'fetch':
      return fetchDoor(shared, mode, find)
    case 'express':
      return serverDoor(expressServer(shared, mode, find))
    case 'fastify':
      return serverDoor(await fastifyServer(shared, mode, find))
    case 'koa':
      return serverDoor(koaServer(shared, mode, find))
    case 'hono':
      return serverDoor(honoServer(shared, mode, find))
  }
}

/** The settings of every route. */
function settings(mode: Mode) {
  const common = { caller: () => 'anna', bodyBytesMax: BODY_BYTES_MAX }
  if (mode === 'lease') return common
  if (mode === 'transaction') return { ...common, transaction: true }
  return { ...common, transaction: true, claim: 'with-first-statement' as const }
}

/** A text as it is sent: large where it has to be. */
function textOf(body: Body, text: string): string {
  return body === 'large stream' ? text.padEnd(3 * BODY_BYTES_MAX) : text
}

/** The pieces of a stream, with a pause after each. */
async function* pieces(body: Body, text: string): AsyncIterable<Buffer> {
  const whole = textOf(body, text)
  const size = Math.ceil(whole.length / 3)
  for (let at = 0; at < whole.length; at += size) {
    yield Buffer.from(whole.slice(at, at + size))
    await delay(1)
  }
}

function isStream(body: Body): boolean {
  return body === 'stream' || body === 'large stream'
}

/** An answer that somebody waits for, where handlers give theirs as a value. */
class Answering<T> {
  readonly #answer: Promise<T>
  #resolve: (answer: T) => void = () => {}

  constructor() {
    this.#answer = new Promise((resolve) => {
      this.#resolve = resolve
    })
  }

  give(answer: T): void {
    this.#resolve(answer)
  }

  /** The first answer; fails with the program if that comes first. The program itself goes on. */
  first(handled: Promise<void>): Promise<T> {
    return Promise.race([this.#answer, handled.then(() => this.#answer)])
  }
}

/** What the engine gave the handler, as far as programs use it. */
function partsOf(request: object): Pick<Scene, 'tx' | 'stage'> {
  const run = runOf<Tx>(request)
  if (run === undefined || !('tx' in run)) return { tx: undefined, stage: undefined }
  return { tx: run.tx, stage: run.stage }
}

function noCut(): void {}

function engineDoor({ world }: Shared, mode: Mode): Door {
  const reprise = world.reprise.with({ bodyBytesMax: BODY_BYTES_MAX })
  const handling = async (play: Play, scene: Pick<Scene, 'tx' | 'stage'>) => {
    const answering = new Answering<CapturedResponse>()
    const answer = (status: number, body: Body, text: string) =>
      answering.give({
        ...{ status, headers: [], body: new TextEncoder().encode(textOf(body, text)) },
        bodyIsStream: body === 'large stream',
      })
    return answering.first(play.handle(play.begin(), { ...scene, answer, cut: noCut }))
  }
  const claim = mode === 'first-statement' ? 'with-first-statement' : 'first'
  const ask = (play: Play) =>
    mode === 'lease'
      ? reprise.run(requestOf(play.key), () => handling(play, { tx: undefined, stage: undefined }))
      : reprise.runInTransaction(requestOf(play.key), (run) => handling(play, run), { claim })
  return { send: (play) => toldBy(ask(play)), close: async () => {} }
}

/** What a caller of the engine is told. */
async function toldBy(asking: Promise<RunResult>): Promise<Told> {
  try {
    const result = await asking
    if (!('response' in result)) {
      const code = CODES[result.outcome] ?? result.outcome
      return { ...CUT, status: 409, code }
    }
    const { status, body } = result.response
    const isReplay = result.outcome === 'replayed'
    return { status, body: new TextDecoder().decode(body).trim(), isReplay, code: null }
  } catch (error) {
    return { ...CUT, status: 500, code: isRepriseError(error) ? error.code : null }
  }
}

const CODES: Readonly<Record<string, string>> = {
  unknown: 'idempotency-outcome-unknown',
  in_progress: 'idempotency-in-progress',
  postponed: 'idempotency-retry-later',
}

/** An operation of two phases: the first is the program, the second behaves. */
function phasesDoor({ world }: Shared): Door {
  const byKey = new Map<string, Play>()
  const input = {
    '~standard': {
      ...{ version: 1 as const, vendor: 'test' },
      validate: (value: unknown) => ({ value: String(value) }),
    },
  }
  const playOf = (key: string) => {
    const play = byKey.get(key)
    if (play === undefined) throw new Error(`Nobody knows the key ${key}.`)
    return play
  }
  const made = operation(
    'hostile',
    { reprise: world.reprise, input, isolation: 'read committed' },
    {
      started: phase(async ({ tx, stage, input: key }) => {
        const play = playOf(key)
        const log = play.begin()
        const answering = new Answering<number>()
        const answer = (status: number) => answering.give(status)
        const scene = { tx, stage, answer, cut: noCut }
        const status = await answering.first(play.handle(log, scene))
        if (status >= 500 || status === 408 || status === 429) throw new Error('Not now.')
        return advance('half', { run: log.id })
      }),
      half: phase(async ({ tx, stage, input: key }, { run }: { run: string }) => {
        const play = playOf(key)
        const log = play.begin(false)
        const answering = new Answering<string>()
        const answer = (_: number, __: Body, text: string) => answering.give(text)
        const scene = { tx, stage, answer, cut: noCut }
        return respond(201, `${run} ${await answering.first(play.handle(log, scene))}`)
      }),
    },
  )
  return {
    send(play) {
      byKey.set(play.key, play)
      return toldBy(made.run({ caller: 'anna', key: play.key, input: play.key }))
    },
    close: async () => {},
  }
}

/** A handler from `Request` to `Response`, called without a server. */
function fetchDoor({ world }: Shared, mode: Mode, find: FindPlay): Door {
  const handle = onFetch(world.reprise, settings(mode), (request) => {
    return responding(find(request.headers.get(KEY) ?? ''), partsOf(request))
  })
  return {
    async send(play) {
      const headers = { 'idempotency-key': play.key, [KEY]: play.key }
      const request = new Request('http://a.example/effects', { method: 'POST', headers })
      try {
        const response = await fronted(play, () => handle(request))
        return heard(response.status, response.headers, await response.text())
      } catch (error) {
        return { ...CUT, status: 500, code: isRepriseError(error) ? error.code : null }
      }
    },
    close: async () => {},
  }
}

async function responding(play: Play, parts: Pick<Scene, 'tx' | 'stage'>): Promise<Response> {
  const answering = new Answering<Response>()
  const answer = (status: number, body: Body, text: string) => {
    // A stream of Node and one of the web platform are two types with one shape.
    const content = isStream(body)
      ? (Readable.toWeb(Readable.from(pieces(body, text))) as unknown as ReadableStream)
      : text
    answering.give(new Response(content, { status }))
  }
  return answering.first(play.handle(play.begin(), { ...parts, answer, cut: noCut }))
}

/** What a middleware in front does: it answers by itself when it has waited long enough. */
async function fronted(play: Play, next: () => Promise<Response>): Promise<Response> {
  const front = play.front()
  if (front === null) return next()
  const early = delay(front.ms).then(() => new Response('front', { status: front.status }))
  return Promise.race([next(), early])
}

function expressServer({ world }: Shared, mode: Mode, find: FindPlay): Serving {
  const app = express()
  app.set('env', 'test')
  const server = createServer(app)
  app.post('/effects', onExpress(world.reprise, settings(mode)), (request, response) => {
    const play = find(String(request.headers[KEY]))
    const answer = (status: number, body: Body, text: string) => {
      response.status(status)
      if (isStream(body)) Readable.from(pieces(body, text)).pipe(response)
      else if (body === 'raw text') response.end(text)
      else response.send(text)
    }
    return play.handle(play.begin(), { ...partsOf(request), answer, cut: cutter(server, response) })
  })
  return { server, close: async () => {} }
}

async function fastifyServer({ world }: Shared, mode: Mode, find: FindPlay): Promise<Serving> {
  const app = fastify()
  const preHandler = onFastify(world.reprise, settings(mode))
  app.post('/effects', { preHandler }, async (request, reply) => {
    const play = find(String(request.headers[KEY]))
    const answer = (status: number, body: Body, text: string) => {
      if (body === 'raw text') {
        if (!reply.sent) reply.hijack()
        reply.raw.statusCode = status
        reply.raw.end(text)
      } else if (isStream(body)) void reply.code(status).send(Readable.from(pieces(body, text)))
      else void reply.code(status).send(text)
    }
    const cut = cutter(app.server, reply.raw)
    await play.handle(play.begin(), { ...partsOf(request), answer, cut })
    return reply
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  return { server: app.server, close: () => app.close() }
}

function koaServer({ world }: Shared, mode: Mode, find: FindPlay): Serving {
  const app = new Koa()
  app.silent = true
  const server = createServer()
  app.use(async (ctx, next) => {
    const front = find(String(ctx.req.headers[KEY])).front()
    if (front === null) return next()
    const going = next()
    going.catch(() => {})
    const isEarly = await Promise.race([going.then(() => false), delay(front.ms).then(() => true)])
    if (!isEarly) return
    ctx.status = front.status
    ctx.body = 'front'
  })
  app.use(onKoa(world.reprise, settings(mode)))
  app.use((ctx) => {
    const play = find(String(ctx.req.headers[KEY]))
    const answer = (status: number, body: Body, text: string) => {
      if (body === 'raw text') {
        ctx.respond = false
        ctx.res.statusCode = status
        ctx.res.end(text)
        return
      }
      ctx.status = status
      ctx.body = isStream(body) ? Readable.from(pieces(body, text)) : text
    }
    return play.handle(play.begin(), { ...partsOf(ctx), answer, cut: cutter(server, ctx.res) })
  })
  const serve = app.callback()
  server.on('request', (request, response) => void serve(request, response))
  return { server, close: async () => {} }
}

function honoServer({ world }: Shared, mode: Mode, find: FindPlay): Serving {
  const app = new Hono()
  app.use('/effects', async (c, next) => {
    const front = find(c.req.header(KEY) ?? '').front()
    if (front === null) return next()
    const going = next()
    going.catch(() => {})
    const isEarly = await Promise.race([going.then(() => false), delay(front.ms).then(() => true)])
    if (isEarly) return new Response('front', { status: front.status })
    return undefined
  })
  app.post('/effects', onHono<Context, Tx>(world.reprise, settings(mode)), (c) =>
    responding(find(c.req.header(KEY) ?? ''), partsOf(c)),
  )
  app.onError((_, c) => c.text('failed', 500))
  const serve = getRequestListener(app.fetch)
  const server = createServer((request, response) => void serve(request, response))
  return { server, close: async () => {} }
}

function cutter(server: Server, response: ServerResponse): Scene['cut'] {
  // A second answer is an error of the program's, which would end the process without Reprise as well.
  response.on('error', () => {})
  return (what) => {
    if (what === 'response') response.destroy()
    else if (what === 'socket') response.req.socket.destroy()
    else server.closeAllConnections()
  }
}

interface Serving {
  readonly server: Server
  close(): Promise<void>
}

async function serverDoor({ server, close }: Serving): Promise<Door> {
  if (!server.listening) {
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  }
  // A server on a port has an address of this kind.
  const { port } = server.address() as AddressInfo
  const agent = new Agent({ keepAlive: true })
  return {
    send: (play, patienceMs) => post({ port, agent, key: play.key, patienceMs }),
    async close() {
      agent.destroy()
      await close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => void server.close(() => resolve()))
    },
  }
}

interface Posting {
  readonly port: number
  readonly agent: Agent
  readonly key: string
  readonly patienceMs: number | null
}

function post({ port, agent, key, patienceMs }: Posting): Promise<Told> {
  return new Promise((resolve) => {
    const headers = { 'idempotency-key': key, [KEY]: key, 'content-length': 0 }
    const place = { port, host: '127.0.0.1', path: '/effects', method: 'POST' }
    const asking = httpRequest({ ...place, agent, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', () => resolve(CUT))
      response.on('close', () => {
        if (!response.complete) return resolve(CUT)
        const all = new Headers()
        for (const [name, value] of Object.entries(response.headers)) all.set(name, String(value))
        resolve(heard(response.statusCode ?? 0, all, Buffer.concat(chunks).toString()))
      })
    })
    asking.on('error', () => resolve(CUT))
    if (patienceMs !== null) {
      const timer = setTimeout(() => asking.destroy(), patienceMs)
      asking.on('close', () => clearTimeout(timer))
    }
    asking.end()
  })
}

function heard(status: number, headers: Headers, body: string): Told {
  const isReplay = headers.get('idempotent-replayed') === 'true'
  const isProblem = headers.get('content-type')?.includes('problem') === true
  return { status, body: body.trim(), isReplay, code: isProblem ? codeOf(body) : null }
}

function codeOf(body: string): string | null {
  const code = /urn:reprise:error:([a-z-]+)/.exec(body)?.[1]
  return code ?? null
}
