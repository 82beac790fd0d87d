import { getRequestListener } from '@hono/node-server'
import { Hono } from 'hono'
import { describe } from 'vitest'
import { idempotent } from '../../src/adapters/hono.ts'
import type { Header, Reprise } from '../../src/index.ts'
import { listen, serveFetch } from './fetch-bridge.ts'
import { testDifferences } from './fetch-differential.ts'
import { type HonoShape, honoShapes, ownShapes } from './hono-shapes.ts'

function shapedApp({ handler, inner }: HonoShape, reprise: Reprise | undefined): Hono {
  const app = new Hono()
  app.onError((error, c) => {
    return 'getResponse' in error ? error.getResponse() : c.text('failed', 500)
  })
  if (reprise !== undefined) app.use(idempotent(reprise, { caller: () => 'acct_1' }))
  if (inner !== undefined) app.use(inner)
  return app.post('/items/:id', handler)
}

/** The same behind middleware that sets headers before and after. */
function surroundedApp(shape: HonoShape, reprise: Reprise | undefined): Hono {
  const app = new Hono()
  app.use(async (c, next) => {
    c.header('X-Before', 'yes')
    await next()
    c.header('X-After', 'yes')
  })
  return app.route('/', shapedApp(shape, reprise))
}

describe('Hono', () => {
  testDifferences({
    shapes: honoShapes,
    serve: (shape, reprise) => serveFetch(shapedApp(shape, reprise).fetch),
  })
})

describe('Hono behind other middleware', () => {
  testDifferences({
    shapes: ownShapes,
    serve: (shape, reprise) => serveFetch(surroundedApp(shape, reprise).fetch),
  })
})

describe("Hono on Node's server", () => {
  /** It chooses names, order and framing by rules of its own, which any further header changes. */
  const linesOf = (headers: readonly Header[]) =>
    headers
      .map(([name, value]): Header => [name.toLowerCase(), value])
      .filter(([name]) => !/^(?:content-length|transfer-encoding)$/.test(name))
      .sort(([a], [b]) => a.localeCompare(b))

  describe('with the responses of Node', () => {
    const options = { overrideGlobalObjects: false }
    testDifferences({
      shapes: ownShapes,
      serve: (shape, reprise) =>
        listen(getRequestListener(shapedApp(shape, reprise).fetch, options)),
      linesOf,
    })
  })

  // It puts them in place for the whole process, so this comes last.
  describe('with responses of its own', () => {
    testDifferences({
      shapes: ownShapes,
      serve: (shape, reprise) => listen(getRequestListener(shapedApp(shape, reprise).fetch)),
      linesOf,
    })
  })
})
