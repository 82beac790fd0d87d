import { bodyParser } from '@koa/bodyparser'
import Koa, { type Context } from 'koa'
import { idempotent, runOf } from '../../src/adapters/koa.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import type { AdapterSpec, Deed, Served } from '../../src/testing/adapter-contract.ts'
import { bytesFrom, streamOf } from './deeds.ts'
import { describeAdapter } from './describe.ts'
import { describeBroken, describeDifferential, type ShapesApp } from './differential.ts'
import { koaBroken, koaShapes } from './koa-shapes.ts'
import { listen } from './listen.ts'

async function serve(spec: AdapterSpec): Promise<Served> {
  const app = new Koa()
  const errors: unknown[] = []
  app.on('error', (error) => errors.push(error))
  const parser = bodyParser({ jsonLimit: '50mb' })
  const { early } = spec
  if (early !== undefined) {
    app.use(async (ctx, next) => {
      const first = await Promise.race([next().then(() => undefined), early()])
      if (first !== undefined) answer(ctx, first)
    })
  }
  if (spec.parser === 'before') app.use(parser)
  if (spec.options !== null) {
    for (const route of ['items', 'others']) {
      const options = { operation: route, ...spec.options }
      const guard = idempotent<Context, unknown>(spec.reprise, options)
      const mounted = (ctx: Context, next: () => Promise<unknown>) =>
        ctx.path.startsWith(`/${route}/`) ? guard(ctx, next) : next()
      app.use(mounted)
      if (spec.isMountedTwice) app.use(mounted)
    }
  }
  if (spec.parser === 'after') app.use(parser)
  app.use(async (ctx) => {
    const id = ctx.path.slice(ctx.path.lastIndexOf('/') + 1)
    const body = spec.parser === 'none' ? await bytesFrom(ctx.req) : ctx.request.body
    answer(ctx, await spec.deed({ id, body, run: runOf(ctx) }))
  })
  return { ...(await listen(app.callback())), errors }
}

function answer(ctx: Context, deed: Deed): void {
  ctx.status = deed.status
  for (const [name, value] of deed.headers ?? []) ctx.append(name, value)
  switch (deed.how) {
    case 'send':
      ctx.body = typeof deed.body === 'string' ? deed.body : Buffer.from(deed.body)
      return
    case 'json':
      ctx.body = deed.body
      return
    case 'end':
      ctx.body = deed.status === 200 ? '' : null
      return
    case 'redirect':
      ctx.redirect(deed.location)
      return
    default:
      ctx.body = streamOf(deed)
  }
}

describeAdapter('Koa', { serve, header: (ctx, name) => (ctx as Context).get(name) || undefined })

async function serveShapes(shapes: typeof koaShapes, isProtected: boolean): Promise<ShapesApp> {
  const app = new Koa()
  app.on('error', () => {})
  const reprise = createReprise({ store: memoryStore() })
  if (isProtected) app.use(idempotent(reprise, { caller: () => 'me' }))
  app.use((ctx) => shapes[Number(ctx.path.slice(1))]?.handler(ctx))
  return listen(app.callback())
}

describeDifferential('Koa', {
  shapes: koaShapes,
  serve: (isProtected) => serveShapes(koaShapes, isProtected),
})

describeBroken('Koa', { shapes: koaBroken, serve: () => serveShapes(koaBroken, true) })
