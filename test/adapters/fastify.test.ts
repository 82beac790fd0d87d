import formbody from '@fastify/formbody'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { idempotent, runOf } from '../../src/adapters/fastify.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import {
  type AdapterSpec,
  type Deed,
  ROUTES,
  type Served,
} from '../../src/testing/adapter-contract.ts'
import { bytesFrom, streamOf } from './deeds.ts'
import { describeAdapter } from './describe.ts'
import { describeBroken, describeDifferential, type ShapesApp } from './differential.ts'
import { type FastifyShape, fastifyBroken, fastifyShapes } from './fastify-shapes.ts'

async function serve(spec: AdapterSpec): Promise<Served> {
  const errors: unknown[] = []
  const app = fastify({ bodyLimit: 50 * 2 ** 20, forceCloseConnections: true })
  app.addHook('onError', async (_request, _reply, error) => void errors.push(error))
  app.addHook('onRequest', async (_request, reply) => {
    void spec.early?.().then((deed) => answer(reply, deed))
  })
  if (spec.parser === 'none') {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', (_request, _payload, done) => done(null))
  } else await app.register(formbody, { bodyLimit: 50 * 2 ** 20 })
  const protection = spec.options === null ? [] : [idempotent(spec.reprise, spec.options)]
  const preHandler = spec.isMountedTwice ? [...protection, ...protection] : protection
  for (const route of ROUTES) {
    app.all<{ Params: { id: string } }>(route, { preHandler }, async (request, reply) => {
      const body = spec.parser === 'none' ? await bytesFrom(request.raw) : request.body
      return answer(reply, await spec.deed({ id: request.params.id, body, run: runOf(request) }))
    })
  }
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: portOf(app), errors, close: () => app.close() }
}

function portOf({ server }: FastifyInstance): number {
  const address = server.address()
  return typeof address === 'object' ? (address?.port ?? 0) : 0
}

function answer(reply: FastifyReply, deed: Deed): unknown {
  reply.code(deed.status)
  const names = new Set(deed.headers?.map(([name]) => name))
  for (const name of names) {
    const values = deed.headers?.flatMap(([other, value]) => (other === name ? [value] : []))
    reply.header(name, values?.length === 1 ? values[0] : values)
  }
  switch (deed.how) {
    case 'send':
      return reply.send(deed.body)
    case 'json':
      if (!reply.hasHeader('content-type')) reply.type('application/json; charset=utf-8')
      return reply.send(typeof deed.body === 'string' ? JSON.stringify(deed.body) : deed.body)
    case 'end':
      return reply.send()
    case 'write':
      reply.hijack()
      for (const [name, value = ''] of Object.entries(reply.getHeaders())) {
        reply.raw.setHeader(name, value)
      }
      for (const piece of deed.body) reply.raw.write(piece)
      return reply.raw.end()
    case 'stream':
    case 'file':
      return reply.send(streamOf(deed))
    case 'redirect':
      return reply.redirect(deed.location, deed.status)
  }
}

describeAdapter('Fastify', {
  serve,
  // The contract hands on what the options' functions were given.
  header: (request, name) => (request as FastifyRequest).headers[name]?.toString(),
  parserPlaces: ['before', 'none'],
})

async function serveShapes(
  shapes: readonly FastifyShape[],
  isProtected: boolean,
): Promise<ShapesApp> {
  const reprise = createReprise({ store: memoryStore() })
  const app = fastify({ forceCloseConnections: true })
  const once = idempotent(reprise, { caller: () => 'acct_1' })
  for (const [index, { options = {}, handler }] of shapes.entries()) {
    const preHandler = [...(isProtected ? [once] : []), ...[options.preHandler ?? []].flat()]
    app.post(`/${index}`, { ...options, preHandler }, handler)
  }
  await app.listen({ host: '127.0.0.1', port: 0 })
  return { port: portOf(app), close: () => app.close() }
}

describeDifferential('Fastify', {
  shapes: fastifyShapes,
  serve: (isProtected) => serveShapes(fastifyShapes, isProtected),
})

describeBroken('Fastify', {
  shapes: fastifyBroken,
  serve: () => serveShapes(fastifyBroken, true),
})
