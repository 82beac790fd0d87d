/**
 * The same route in each framework: `POST /rides`, JSON in, JSON out.
 *
 * @module
 */

import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RequestHandler } from 'express'
import type pg from 'pg'
import type { ClaimTime, Reprise } from 'reprise'
import type { Operation } from 'reprise/phases'
import type { NewRide } from './work.ts'

/** Which framework serves. */
export type Framework = 'express' | 'fastify' | 'hono' | 'koa'

/** What a route does. */
export interface Route {
  /** Answers; the request is what `txOf` takes. */
  readonly handle: (ride: NewRide, request: object) => Promise<object>
  /** Reprise in front of it. */
  readonly protection?: {
    readonly reprise: Reprise<pg.PoolClient>
    readonly transaction: boolean
    readonly claim?: ClaimTime
  }
  /** An operation in phases, in the place of the handler; Express only. */
  readonly operation?: Operation<pg.PoolClient, NewRide>
  /** Middleware of a peer, before the handler; Express only. */
  readonly middleware?: readonly Middleware[]
}

/** Middleware as Express calls it. */
export type Middleware = (request: object, response: object, next: () => void) => unknown

type Listen = (route: Route) => Promise<number>

/** Serves the route and tells the port. */
export const LISTEN: Readonly<Record<Framework, Listen>> = {
  express: listenExpress,
  fastify: listenFastify,
  hono: listenHono,
  koa: listenKoa,
}

/** One caller: who asks makes no difference to the cost. */
const caller = (): string => 'acct_1'

/** The largest body that Express parses: more than any that is sent. */
const LIMIT = '4mb'

async function listenExpress(route: Route): Promise<number> {
  const { default: express } = await import('express')
  const { idempotent, serve } = await import('reprise/express')
  const { handle, protection, operation, middleware = [] } = route
  const app = express()
  app.disable('x-powered-by').disable('etag')
  const json = express.json({ limit: LIMIT })
  if (operation !== undefined) app.post('/rides', json, serve(operation, { caller }))
  else {
    const before: RequestHandler[] = [...middleware]
    if (protection !== undefined) {
      const { reprise, ...mode } = protection
      before.push(idempotent(reprise, { caller, ...mode, required: true }))
    }
    app.post('/rides', json, ...before, (request, response, next) => {
      // The load generator sends nothing else.
      const answer = handle(request.body as NewRide, request)
      // A peer may have answered already, and called the handler nevertheless.
      answer.then((ride) => response.headersSent || response.status(201).json(ride), next)
    })
  }
  return portOf(app.listen(0, '127.0.0.1'))
}

async function listenFastify({ handle, protection }: Route): Promise<number> {
  const { default: fastify } = await import('fastify')
  const { idempotent } = await import('reprise/fastify')
  const app = fastify()
  const preHandler = []
  if (protection !== undefined) {
    const { reprise, ...mode } = protection
    preHandler.push(idempotent(reprise, { caller, ...mode, required: true }))
  }
  app.post<{ Body: NewRide }>('/rides', { preHandler }, async (request, reply) =>
    reply.code(201).send(await handle(request.body, request)),
  )
  await app.listen({ port: 0, host: '127.0.0.1' })
  return portOf(app.server)
}

async function listenHono({ handle, protection }: Route): Promise<number> {
  const { serve } = await import('@hono/node-server')
  const { Hono } = await import('hono')
  const { idempotent } = await import('reprise/hono')
  const app = new Hono()
  if (protection !== undefined) {
    const { reprise, ...mode } = protection
    app.use('/rides', idempotent(reprise, { caller, ...mode, required: true }))
  }
  app.post('/rides', async (c) => c.json(await handle(await c.req.json(), c), 201))
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  // Without a server of its own to use, it makes one of node:http.
  return portOf(server as Server)
}

async function listenKoa({ handle, protection }: Route): Promise<number> {
  const { bodyParser } = await import('@koa/bodyparser')
  const { default: Koa } = await import('koa')
  const { idempotent } = await import('reprise/koa')
  const app = new Koa()
  app.use(bodyParser())
  if (protection !== undefined) {
    const { reprise, ...mode } = protection
    app.use(idempotent(reprise, { caller, ...mode, required: true }))
  }
  app.use(async (ctx) => {
    // The load generator sends nothing else.
    ctx.body = await handle(ctx.request.body as NewRide, ctx)
    ctx.status = 201
  })
  return portOf(app.listen(0, '127.0.0.1'))
}

async function portOf(server: Server): Promise<number> {
  if (!server.listening) await new Promise((resolve) => server.once('listening', resolve))
  // A server on a port has one.
  return (server.address() as AddressInfo).port
}
