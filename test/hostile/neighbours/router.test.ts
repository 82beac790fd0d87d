import Koa, { type Middleware } from 'koa'
import { describe, expect, it } from 'vitest'
import { idempotent } from '../../../src/adapters/koa.ts'
import { createReprise } from '../../../src/engine/reprise.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { listen } from '../../adapters/listen.ts'
import { notRun } from '../../support/not-run.ts'
import { load, missingPackages } from './packages.ts'

const missing = await missingPackages()
const isMissing = missing !== undefined
const skip = isMissing && notRun({ suite: 'test/hostile/neighbours (router)', reason: missing })

/** What of a router is used. */
interface Router {
  post(path: string, ...middleware: Middleware[]): Router
  use(path: string, middleware: Middleware): Router
  routes(): Middleware
}

describe.skipIf(skip)('@koa/router', () => {
  for (const how of ['a prefix', 'a router in a router']) {
    it(`${how} with a parameter is one operation, and another value is another request`, async () => {
      const KoaRouter = (await load('@koa/router')) as unknown as new (options?: object) => Router
      const operations = new Set<string>()
      const onEvent = ({ operation }: { operation: string }) => void operations.add(operation)
      const reprise = createReprise({ store: memoryStore(), onEvent })
      const guard: Middleware = idempotent(reprise, { caller: () => 'me' })
      const handler: Middleware = (ctx) => {
        ctx.status = 201
      }
      const isPrefixed = how === 'a prefix'
      const inner = new KoaRouter(isPrefixed ? { prefix: '/t/:tenant' } : {})
      inner.post('/orders', guard, handler)
      const router = isPrefixed ? inner : new KoaRouter().use('/t/:tenant', inner.routes())
      const server = await listen(new Koa().use(router.routes()).callback())
      const statuses: number[] = []
      for (const tenant of ['a', 'b', 'a']) {
        const url = `http://127.0.0.1:${server.port}/t/${tenant}/orders`
        const init = { method: 'POST', headers: { 'Idempotency-Key': 'k1' } }
        statuses.push((await fetch(url, init)).status)
      }
      await server.close()
      expect(statuses).toEqual([201, 422, 201])
      expect([...operations]).toEqual(['POST /t/:tenant/orders'])
    })
  }
})
