import { getRequestListener } from '@hono/node-server'
import { type Context, Hono } from 'hono'
import { describe, expect, test } from 'vitest'
import { idempotent } from '../../src/adapters/hono.ts'
import { createReprise, memoryStore } from '../../src/index.ts'
import { describeAdapter } from './describe.ts'
import { listen, serveFetch } from './fetch-bridge.ts'
import { contractApp } from './hono-app.ts'

describeAdapter('Hono', {
  serve(spec) {
    const errors: unknown[] = []
    return serveFetch(contractApp(spec, errors).fetch, errors)
  },
  // The options of this adapter are given Hono's context.
  header: (c, name) => (c as Context).req.header(name),
})

const caller = () => 'acct_1'

/** A request as a test sends it. */
function post(body: string, headers: Readonly<Record<string, string>> = {}): RequestInit {
  return { method: 'POST', body, headers: { 'Idempotency-Key': 'key-1', ...headers } }
}

describe("Hono on Node's server", () => {
  test('records the address of the client', async () => {
    const store = memoryStore()
    const app = new Hono()
    app.use(idempotent(createReprise({ store }), { caller }))
    app.post('/items', (c) => c.text('ok'))
    const served = await listen(getRequestListener(app.fetch))
    await fetch(`http://127.0.0.1:${served.port}/items`, post('a'))
    await served.close()
    const { records } = await store.list({ limit: 1 })
    expect(records[0]?.record.origin.ip).toBe('127.0.0.1')
  })
})
