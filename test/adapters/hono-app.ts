/**
 * The app that the contract of adapters asks Hono for.
 *
 * @module
 */

import { type Context, Hono, type MiddlewareHandler } from 'hono'
import { idempotent, runOf } from '../../src/adapters/hono.ts'
import { type AdapterSpec, ROUTES } from '../../src/testing/adapter-contract.ts'
import { bytesFrom, deedResponse, parsed } from './fetch-bridge.ts'

/** The app of a spec; what reaches its error handling is kept. */
export function contractApp(spec: AdapterSpec, errors: unknown[]): Hono {
  const parser: MiddlewareHandler = async (c, next) => {
    await parsedBody(c)
    await next()
  }
  const protection = spec.options === null ? [] : [idempotent(spec.reprise, spec.options)]
  const front: MiddlewareHandler = async (_, next) => {
    const early = spec.early?.().then(deedResponse)
    // The middleware answers with what is there first, as `hono/timeout` does.
    const first = await Promise.race([next(), ...(early === undefined ? [] : [early])])
    return first ?? undefined
  }
  const stack: MiddlewareHandler[] = [
    ...(spec.early === undefined ? [] : [front]),
    ...(spec.parser === 'before' ? [parser] : []),
    ...protection,
    ...(spec.isMountedTwice ? protection : []),
    ...(spec.parser === 'after' ? [parser] : []),
  ]
  const app = new Hono()
  app.onError((error, c) => {
    errors.push(error)
    return c.text('failed', 500)
  })
  for (const route of ROUTES) {
    for (const middleware of stack) app.use(route, middleware)
    app.all(route, async (c) => {
      const body = spec.parser === 'none' ? await bytesFrom(c.req.raw) : await parsedBody(c)
      const id = c.req.param('id') ?? ''
      return deedResponse(await spec.deed({ id, body, run: runOf(c) }))
    })
  }
  return app
}

async function parsedBody(c: Context): Promise<unknown> {
  return parsed(c.req.raw.headers, await c.req.text())
}
