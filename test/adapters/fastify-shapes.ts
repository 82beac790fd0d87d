import { createReadStream } from 'node:fs'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify'
import type { Shape } from './differential.ts'

/** A handler of Fastify. */
export type FastifyHandler = (request: FastifyRequest, reply: FastifyReply) => unknown

/** A way to answer in Fastify. */
export interface FastifyShape extends Shape<FastifyHandler> {
  readonly options?: RouteShorthandOptions
}

const BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte)
const LONG = 'Zwölf Boxkämpfer jagen Viktor quer über den Deich. '.repeat(6000)

function failing(status: number, message: string): Error {
  return Object.assign(new Error(message), { statusCode: status })
}

async function* inPieces(...pieces: readonly string[]): AsyncIterable<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece)
}

/** A stream that fails before it gives anything. */
function failingAtOnce(): Readable {
  return new Readable({
    read() {
      this.destroy(failing(418, 'no tea'))
    },
  })
}

/** A stream that fails half way. */
async function* breaking(): AsyncIterable<Buffer> {
  yield Buffer.from('half of ')
  throw new Error('The source is gone.')
}

/** Answers that break when their head is written. */
export const fastifyBroken: readonly FastifyShape[] = [
  { name: 'a stream that fails half way', handler: async () => Readable.from(breaking()) },
  {
    name: 'a web stream that fails half way',
    handler: async () => Readable.toWeb(Readable.from(breaking())),
  },
  {
    name: 'an answer by hand that is cut',
    handler(_, reply) {
      reply.hijack()
      reply.raw.write('half of ')
      reply.raw.destroy()
    },
  },
]

/** Ways that Fastify knows. */
export const fastifyShapes: readonly FastifyShape[] = [
  { name: 'an object that is returned', handler: async () => ({ id: 'it_1', name: 'ü 🎉' }) },
  { name: 'an object that is sent', handler: (_, reply) => void reply.send({ id: 'it_1' }) },
  { name: 'an array', handler: async () => [1, 'two', null] },
  { name: 'a text', handler: async () => 'Grüße 🎉' },
  { name: 'an empty text', handler: async () => '' },
  { name: 'a page', handler: (_, reply) => reply.type('text/html').send('<p>ü</p>') },
  { name: 'a number as JSON', handler: (_, reply) => reply.type('application/json').send(42) },
  { name: 'true', handler: async () => true },
  { name: 'null', handler: async () => null },
  { name: 'nothing that is returned', handler: async () => undefined },
  { name: 'nothing that is sent', handler: (_, reply) => void reply.send() },
  { name: 'a buffer', handler: async () => Buffer.from(BYTES) },
  { name: 'a typed array', handler: (_, reply) => reply.send(BYTES) },
  {
    name: 'a part of a typed array of numbers',
    handler: (_, reply) => reply.send(new Float64Array([1, 2.5, -3]).subarray(1)),
  },
  {
    name: 'a 201 with a place',
    handler: (_, reply) => reply.code(201).header('Location', '/1').send({}),
  },
  { name: 'a 204', handler: (_, reply) => reply.code(204).send() },
  { name: 'a 204 that is returned', handler: async (_, reply) => void reply.code(204) },
  { name: 'a 304', handler: (_, reply) => reply.code(304).header('ETag', '"1"').send() },
  { name: 'a redirect', handler: (_, reply) => reply.redirect('/elsewhere?a=ü'.replace('ü', 'u')) },
  { name: 'a 307', handler: (_, reply) => reply.redirect('/elsewhere', 307) },
  { name: 'a long text', handler: async () => LONG },
  { name: 'a stream', handler: async () => Readable.from(inPieces('one ', 'two ', 'drei ü')) },
  {
    name: 'a stream of known length',
    handler: (_, reply) =>
      reply.header('Content-Length', 6).send(Readable.from(inPieces('abc', 'def'))),
  },
  { name: 'an empty stream', handler: async () => Readable.from([]) },
  { name: 'a stream that fails at once', handler: async () => failingAtOnce() },
  { name: 'a file', handler: async () => createReadStream(import.meta.filename) },
  {
    name: 'a file that is not there',
    isUnkept: true,
    handler: async () => createReadStream('/nowhere/at/all'),
  },
  {
    name: 'a web stream',
    handler: (_, reply) => reply.send(new Blob(['web ', 'stream']).stream()),
  },
  {
    name: 'a web response',
    handler: async () => new Response('made', { status: 201, headers: { 'X-Made': 'by fetch' } }),
  },
  {
    name: 'an answer by hand',
    handler(_, reply) {
      reply.hijack()
      reply.raw.writeHead(202, { 'Content-Type': 'text/x-hand', 'X-Two': ['a', 'b'] })
      reply.raw.write('by ')
      reply.raw.end('hand')
    },
  },
  {
    name: 'an answer by hand with a flat list of headers',
    handler(_, reply) {
      reply.hijack()
      reply.raw.writeHead(200, 'Fine', ['X-One', '1', 'Content-Length', '4'])
      reply.raw.end('done', 'latin1')
    },
  },
  {
    name: 'an answer by hand that comes later',
    async handler(_, reply) {
      reply.hijack()
      await Promise.resolve()
      reply.raw.statusCode = 203
      reply.raw.flushHeaders()
      reply.raw.write(Buffer.from('late'))
      await Promise.resolve()
      reply.raw.end()
    },
  },
  {
    name: 'headers set on the raw response',
    handler(_, reply) {
      reply.raw.setHeader('X-Raw', 'raw')
      return reply.header('X-Own', 'own').send('both')
    },
  },
  {
    name: 'several cookies',
    handler: (_, reply) =>
      reply.header('Set-Cookie', 'a=1').header('Set-Cookie', ['b=2', 'c=3']).send('welcome'),
  },
  {
    name: 'a compressed body',
    handler: (_, reply) => reply.header('Content-Encoding', 'gzip').send(gzipSync('packed')),
  },
  {
    name: 'trailers',
    handler: (_, reply) => reply.trailer('X-Sum', async () => 'abc').send('with a trailer'),
  },
  {
    name: 'a serializer of its own',
    handler: (_, reply) =>
      reply
        .type('text/x-own')
        .serializer((value) => `<${value}>`)
        .send(7),
  },
  {
    name: 'what a response schema leaves',
    options: {
      schema: { response: { 200: { type: 'object', properties: { a: { type: 'string' } } } } },
    },
    handler: async () => ({ a: 1, secret: 2 }),
  },
  {
    name: 'what a preSerialization hook made',
    options: { preSerialization: async (_request, _reply, payload) => ({ data: payload }) },
    handler: async () => ({ a: 1 }),
  },
  {
    name: 'what an onSend hook made',
    options: { onSend: async (_request, _reply, payload) => `${String(payload)}!` },
    handler: async () => 'hello',
  },
  {
    name: 'what an onSend hook packed into a stream',
    options: {
      async onSend(_request, reply, payload) {
        reply.removeHeader('content-length').header('Content-Encoding', 'gzip')
        return Readable.from([gzipSync(String(payload))])
      },
    },
    handler: async () => 'hello',
  },
  {
    name: 'an error',
    isUnkept: true,
    handler: async () => {
      throw new Error('broken')
    },
  },
  { name: 'an error that is sent', handler: (_, reply) => reply.send(failing(409, 'taken')) },
  {
    name: 'an error with a status',
    handler: async () => {
      throw failing(402, 'declined')
    },
  },
  {
    name: 'what an error handler made',
    options: {
      errorHandler: (error, _request, reply) => void reply.code(422).send({ told: error.message }),
    },
    handler: async () => {
      throw new Error('broken')
    },
  },
  { name: 'not found', handler: (_, reply) => reply.callNotFound() },
  {
    name: 'an answer of a later hook',
    isUnkept: true,
    options: { preHandler: async (_request, reply) => reply.code(403).send('not you') },
    handler: async () => 'never',
  },
]
