/**
 * Fastify.
 *
 * @module
 */

import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import fastify, { type FastifyInstance, type FastifyReply } from 'fastify'
import { missing } from './express.ts'
import { load } from './packages.ts'
import { type Framework, piecesIn, type Serving, textIn, valueIn, type World } from './world.ts'

type Register = (app: FastifyInstance) => Promise<unknown>

/** Registers a plugin of a package. */
function plugin(name: string, options: object = {}): Register {
  return async (app) => app.register(await load(name), options)
}

const MAKERS: Readonly<Record<string, Register>> = {
  '@fastify/compress': plugin('@fastify/compress'),
  '@fastify/compress of everything': plugin('@fastify/compress', { threshold: 0 }),
  '@fastify/helmet': plugin('@fastify/helmet'),
  '@fastify/cors': plugin('@fastify/cors', { origin: true, credentials: true }),
  '@fastify/etag': plugin('@fastify/etag'),
  '@fastify/cookie and session': async (app) => {
    await app.register(await load('@fastify/cookie'))
    const secret = 'a secret with at least 32 characters in it'
    await app.register(await load('@fastify/session'), {
      secret,
      cookie: { secure: false },
    })
  },
  '@fastify/rate-limit': plugin('@fastify/rate-limit', { max: 1000 }),
  '@fastify/multipart': plugin('@fastify/multipart'),
  'an envelope in onSend': async (app) => {
    app.addHook('onSend', async (_request, _reply, payload) =>
      typeof payload === 'string' ? `{"data":${payload}}` : payload,
    )
  },
  'an envelope before serialization': async (app) => {
    app.addHook('preSerialization', async (_request, _reply, payload) => ({ data: payload }))
  },
  'a header for every answer': async (app) => {
    app.addHook('onSend', async (_request, reply) => void reply.header('X-Neighbour', 'yes'))
  },
  'a log of every answer': async (app) => {
    app.addHook('onResponse', async (_request, reply) => void reply.elapsedTime)
  },
}

type Way = (reply: FastifyReply, world: World) => unknown

const WAYS: Readonly<Record<string, Way>> = {
  json: (reply, world) => reply.code(201).send(valueIn(world)),
  returned: (_, world) => valueIn(world),
  text: (reply, world) => reply.type('text/plain').send(textIn(world)),
  buffer: (reply, world) => reply.type('text/plain').send(Buffer.from(textIn(world))),
  'empty 204': (reply) => reply.code(204).send(),
  stream: (reply, world) => reply.type('text/plain').send(Readable.from(piecesIn(world))),
  file: (reply) =>
    reply
      .type('application/json')
      .send(createReadStream(join(import.meta.dirname, 'package.json'))),
  'writeHead, write, end': (reply, world) => {
    reply.hijack()
    reply.raw.writeHead(201, 'By Hand', { 'Content-Type': 'text/plain', 'X-Head': '1' })
    for (const piece of piecesIn(world)) reply.raw.write(piece)
    reply.raw.end()
  },
  'a message': (reply, world) => {
    reply.raw.statusMessage = 'Quite Fine'
    return reply.send(valueIn(world))
  },
  'several cookies': (reply, world) =>
    reply.header('Set-Cookie', ['a=1', 'b=2']).send(valueIn(world)),
  redirect: (reply) => reply.redirect('/elsewhere', 303),
  'throw 402': () => {
    throw Object.assign(new Error('card declined'), { statusCode: 402 })
  },
  'throw 500': () => {
    throw new Error('the handler fails')
  },
  'late json': async (reply, world) => {
    await new Promise((resolve) => setImmediate(resolve))
    return reply.send(valueIn(world))
  },
  'strong etag': (reply, world) => reply.header('ETag', '"v1"').send(valueIn(world)),
}

export const fastifyFramework: Framework = {
  name: 'Fastify',
  neighbours: Object.keys(MAKERS),
  ways: Object.keys(WAYS),
  async serve({ world, reprise, adapters, onEffect }: Serving) {
    const app = fastify({ forceCloseConnections: true })
    for (const name of world.before) await (MAKERS[name]?.(app) ?? missing(name))
    if (reprise !== null) {
      app.addHook('preHandler', adapters.onFastify(reprise, { caller: () => 'me' }))
    }
    for (const name of world.behind) await (MAKERS[name]?.(app) ?? missing(name))
    app.post('/t', async (_request, reply) => {
      onEffect()
      return WAYS[world.way]?.(reply, world)
    })
    const address = await app.listen({ port: 0, host: '127.0.0.1' })
    return { port: Number(new URL(address).port), close: () => app.close() }
  },
}
