import { createRequire } from 'node:module'
import { Controller, Post } from '@nestjs/common'
import express, { type Express, type RequestHandler } from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import { expect, it } from 'vitest'
import { idempotent } from '../../src/adapters/express.ts'
import { idempotent as fastifyHook } from '../../src/adapters/fastify.ts'
import { idempotent as hono } from '../../src/adapters/hono.ts'
import { IdempotencyModule, Idempotent } from '../../src/adapters/nest.ts'
import { createReprise } from '../../src/engine/reprise.ts'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { appModule, createApp, decorate, listen } from './nest-app.ts'
import { serving } from './node-world.ts'

// Has no types of its own; as far as it is used here it is like version 5.
const express4 = createRequire(import.meta.url)('express4') as typeof express

/** An engine, and the operations that it tells of. */
function told() {
  const operations = new Set<string>()
  const onEvent = ({ operation }: { operation: string }) => void operations.add(operation)
  return { reprise: createReprise({ store: memoryStore(), onEvent }), operations }
}

const caller = () => 'me'

/** Sends the same key to each path; returns the statuses. */
async function statuses(port: number, paths: readonly string[]): Promise<readonly number[]> {
  const answers: number[] = []
  for (const path of paths) {
    const headers = { 'Idempotency-Key': 'k1' }
    const url = `http://127.0.0.1:${port}${path}`
    answers.push((await fetch(url, { method: 'POST', headers })).status)
  }
  return answers
}

const created: RequestHandler = (_request, response) => void response.sendStatus(201)

/** How a router comes to stand under a parameter, and the template that this makes. */
type Mount = (framework: typeof express, guard: RequestHandler) => Express

const mounts: Readonly<
  Record<string, readonly [mount: Mount, paths: readonly string[], template: string]>
> = {
  'a router under a parameter': [
    (x, guard) => x().use('/t/:tenant', x.Router().post('/orders/:id', guard, created)),
    ['/t/a/orders/1', '/t/b/orders/1', '/t/t/orders/1', '/t/a/orders/1'],
    '/t/:tenant/orders/:id',
  ],
  'a router under a parameter, which it is given': [
    (x, guard) =>
      x().use('/t/:tenant', x.Router({ mergeParams: true }).post('/orders', guard, created)),
    ['/t/a/orders', '/t/b/orders', '/t/orders/orders', '/t/a/orders'],
    '/t/:tenant/orders',
  ],
  'a router in a router, each under a parameter': [
    (x, guard) => {
      const inner = x.Router().post('/', guard, created)
      return x().use('/t/:tenant', x.Router().use('/:kind/of', inner))
    },
    ['/t/a/x/of', '/t/b/x/of', '/t/a/y/of', '/t/a/x/of'],
    '/t/:tenant/:kind/of/',
  ],
  'a router behind others that do not lead there': [
    (x, guard) => {
      const app = x()
      app.use('/t/:other', x.Router().post('/elsewhere', created))
      app.use('/t', x.Router().get('/:a/:b', created))
      return app.use('/t/:tenant', x.Router().post('/orders', guard, created))
    },
    ['/t/a/orders', '/t/b%2Fc/orders', '/t/%C3%BC/orders', '/t/a/orders'],
    '/t/:tenant/orders',
  ],
  'two parameters in one segment': [
    (x, guard) => x().use('/t/:from-:to', x.Router().post('/orders', guard, created)),
    ['/t/a-b/orders', '/t/a-c/orders', '/t/b-b/orders', '/t/a-b/orders'],
    '/t/:from-:to/orders',
  ],
  'a router at several paths': [
    (x, guard) => x().use(['/t/:tenant', '/u/:user'], x.Router().post('/orders', guard, created)),
    ['/t/a/orders', '/t/b/orders', '/t/c/orders', '/t/a/orders'],
    '/t/:tenant/orders',
  ],
  'an app in an app': [
    (x, guard) => x().use('/t/:tenant', x().post('/orders', guard, created)),
    ['/t/a/orders', '/t/b/orders', '/t/t/orders', '/t/a/orders'],
    '/t/:tenant/orders',
  ],
  'a router without a parameter': [
    (x, guard) => x().use('/t/fixed', x.Router().post('/orders/:id', guard, created)),
    ['/t/fixed/orders/1', '/t/fixed/orders/2', '/t/fixed/orders/3', '/t/fixed/orders/1'],
    '/t/fixed/orders/:id',
  ],
}

for (const [version, framework] of Object.entries({
  'Express 5': express,
  'Express 4': express4,
})) {
  for (const [what, [mount, paths, template]] of Object.entries(mounts)) {
    it(`${version}: ${what} is one operation, and another parameter is another request`, async () => {
      const { reprise, operations } = told()
      const guard = idempotent(reprise, { caller })
      const { port } = await serving(mount(framework, guard))
      expect(await statuses(port, paths)).toEqual([201, 422, 422, 201])
      expect([...operations]).toEqual([`POST ${template}`])
    })
  }
}

it('Fastify: a prefix with a parameter is one operation', async () => {
  const { reprise, operations } = told()
  const app = fastify()
  const preHandler = fastifyHook(reprise, { caller })
  await app.register(
    async (scope) => {
      scope.post('/orders', { preHandler }, async (_, reply) => reply.code(201).send('x'))
    },
    { prefix: '/t/:tenant' },
  )
  const codes: number[] = []
  for (const url of ['/t/a/orders', '/t/b/orders', '/t/a/orders']) {
    const headers = { 'idempotency-key': 'k1' }
    codes.push((await app.inject({ method: 'POST', url, headers })).statusCode)
  }
  expect(codes).toEqual([201, 422, 201])
  expect([...operations]).toEqual(['POST /t/:tenant/orders'])
  await app.close()
})

for (const where of ['the route', 'the app below', 'the whole app']) {
  it(`Hono: an app under a parameter is one operation, protected by ${where}`, async () => {
    const { reprise, operations } = told()
    const guard = hono(reprise, { caller })
    const app = new Hono()
    const below = new Hono()
    if (where === 'the whole app') app.use(guard)
    if (where === 'the app below') below.use(guard)
    if (where === 'the route') below.post('/orders', guard, (c) => c.text('x', 201))
    else below.post('/orders', (c) => c.text('x', 201))
    app.route('/t/:tenant', below)
    const codes: number[] = []
    for (const path of ['/t/a/orders', '/t/b/orders', '/t/a/orders']) {
      const init = { method: 'POST', headers: { 'Idempotency-Key': 'k1' } }
      codes.push((await app.request(path, init)).status)
    }
    expect(codes).toEqual([201, 422, 201])
    expect([...operations]).toEqual(['POST /t/:tenant/orders'])
  })
}

for (const platform of ['express', 'fastify'] as const) {
  it(`NestJS on ${platform}: a controller under a parameter is one operation`, async () => {
    const { reprise, operations } = told()
    class Orders {
      create(): string {
        return 'created'
      }
    }
    decorate(Orders, 'create', [Post('orders'), Idempotent()])
    Controller('t/:tenant')(Orders)
    const idempotency = IdempotencyModule.forRoot({ reprise, caller })
    const app = await createApp(platform, appModule([Orders], [idempotency]))
    const port = await listen(app)
    expect(await statuses(port, ['/t/a/orders', '/t/b/orders', '/t/a/orders'])).toEqual([
      ...[201, 422, 201],
    ])
    expect([...operations]).toEqual(['POST /t/:tenant/orders'])
    await app.close()
  })
}
