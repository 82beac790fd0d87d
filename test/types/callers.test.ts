import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Express, Request as ExpressRequest } from 'express'
import type Koa from 'koa'
import { describe, expectTypeOf, it } from 'vitest'
import { idempotent as onExpress } from '../../src/adapters/express.ts'
import { idempotent as onKoa } from '../../src/adapters/koa.ts'
import { idempotent as onNode } from '../../src/adapters/node.ts'
import type { Reprise } from '../../src/index.ts'

/** Compiled, not run: what users write has to need no annotation. */
describe('the functions of a route know their request', () => {
  it('in Express, in place and apart', () => {
    const compiled = (app: Express, reprise: Reprise) => {
      app.use(onExpress(reprise, { caller: (req) => req.get('authorization') ?? '' }))
      app.post(
        '/items/:id',
        onExpress(reprise, { caller: (req) => req.get('authorization') ?? '' }),
        (req, res) => void res.json(req.params.id),
      )
      const apart = onExpress(reprise, {
        caller(req) {
          expectTypeOf(req).toEqualTypeOf<ExpressRequest>()
          return req.ip ?? ''
        },
        requestId: (req) => req.get('x-request-id') ?? null,
      })
      app.post('/items', apart)
      // A type of the user's own still counts.
      type Signed = ExpressRequest & { readonly account: string }
      return onExpress(reprise, { caller: (req: Signed) => req.account })
    }

    expectTypeOf(compiled).toBeFunction()
  })

  it('in Koa, in place and apart', () => {
    const compiled = (app: Koa, reprise: Reprise) => {
      app.use(onKoa(reprise, { caller: (ctx) => ctx.get('authorization') }))
      const apart = onKoa(reprise, {
        caller(ctx) {
          expectTypeOf(ctx).toEqualTypeOf<Koa.Context>()
          return ctx.get('authorization')
        },
      })
      app.use(apart)
    }

    expectTypeOf(compiled).toBeFunction()
  })

  it('in Node, whose server is given a handler that returns nothing', () => {
    const compiled = (reprise: Reprise) => {
      const caller = (req: IncomingMessage) => req.headers.authorization ?? ''
      const handler = onNode(reprise, { caller }, (_, res) => void res.end())
      expectTypeOf(handler).returns.toBeVoid()
      return createServer(
        onNode(reprise, { caller: (req) => req.url ?? '' }, async (_, res) => {
          expectTypeOf(res).toEqualTypeOf<ServerResponse>()
          res.end()
        }),
      )
    }

    expectTypeOf(compiled).toBeFunction()
  })
})
