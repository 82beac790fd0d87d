import { createRequire } from 'node:module'
import { pipeline } from 'node:stream'
import express, { type NextFunction, type Request, type Response } from 'express'
import { idempotent, runOf } from '../../src/adapters/express.ts'
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
import { express5Shapes, expressBroken, expressShapes } from './express-shapes.ts'
import { listen } from './listen.ts'

// Has no types of its own; as far as it is used here it is like version 5.
const express4 = createRequire(import.meta.url)('express4') as typeof express

async function serve(make: typeof express, spec: AdapterSpec): Promise<Served> {
  const app = make()
  const errors: unknown[] = []
  app.set('env', 'test')
  const parsers = [make.json({ limit: '50mb' }), make.urlencoded({ extended: false })]
  const protection = spec.options === null ? [] : [idempotent(spec.reprise, spec.options)]
  const stack = [
    ...(spec.parser === 'before' ? parsers : []),
    ...protection,
    ...(spec.isMountedTwice ? protection : []),
    ...(spec.parser === 'after' ? parsers : []),
  ]
  const handle = async (req: Request, res: Response, next: NextFunction) => {
    // Version 4 does not look at promises.
    try {
      const body = spec.parser === 'none' ? await bytesFrom(req) : req.body
      answer(res, await spec.deed({ id: String(req.params['id']), body, run: runOf(req) }))
    } catch (error) {
      next(error)
    }
  }
  for (const route of ROUTES) {
    app.all(route, ...stack, (req: Request, res: Response, next: NextFunction) => {
      void handle(req, res, next)
    })
  }
  app.use((error: unknown, _: Request, __: Response, next: NextFunction) => {
    errors.push(error)
    next(error)
  })
  return { ...(await listen(app)), errors }
}

function answer(res: Response, deed: Deed): void {
  res.status(deed.status)
  for (const [name, value] of deed.headers ?? []) res.append(name, value)
  switch (deed.how) {
    case 'send':
      res.send(typeof deed.body === 'string' ? deed.body : Buffer.from(deed.body))
      return
    case 'json':
      res.json(deed.body)
      return
    case 'end':
      res.end()
      return
    case 'write':
      for (const piece of deed.body) res.write(piece)
      res.end()
      return
    case 'redirect':
      res.redirect(deed.status, deed.location)
      return
    default:
      pipeline(streamOf(deed), res, () => {})
  }
}

/** Stands for a template. */
class Page {
  readonly path = 'page.html'

  render(options: { title: string }, done: (error: null, html: string) => void): void {
    done(null, `<h1>${options.title}</h1>`)
  }
}

async function serveShapes(
  { make, shapes }: { make: typeof express; shapes: typeof expressShapes },
  isProtected: boolean,
): Promise<ShapesApp> {
  const app = make()
  app.set('env', 'test').set('view', Page)
  const reprise = createReprise({ store: memoryStore() })
  if (isProtected) app.use(idempotent(reprise, { caller: () => 'me' }))
  for (const [index, { handler }] of shapes.entries()) app.post(`/${index}`, handler)
  app.use((error: Error, _: Request, __: Response, next: NextFunction) => {
    // Express shows it, and with one more middleware it is another.
    error.stack = String(error)
    next(error)
  })
  return listen(app)
}

for (const [name, make] of [
  ['Express 5', express],
  ['Express 4', express4],
] as const) {
  const shapes = make === express ? [...expressShapes, ...express5Shapes] : expressShapes

  describeAdapter(name, {
    serve: (spec) => serve(make, spec),
    header: (request, name) => (request as Request).get(name),
    // The handler behind a middleware of Express tells nobody when it is done.
    knowsHandlerEnd: false,
  })
  describeDifferential(name, {
    shapes,
    serve: (isProtected) => serveShapes({ make, shapes }, isProtected),
  })
  describeBroken(name, {
    shapes: expressBroken,
    serve: () => serveShapes({ make, shapes: expressBroken }, true),
  })
}
