import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/hono'

export const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
await reprise.ready()
const once = idempotent(reprise, { caller: (c) => hashSecret(c.req.header('Authorization') ?? '') })
const charges: unknown[] = []
const app = new Hono()

// Your own sign-in comes first: a request of nobody has no caller.
app.use(async (c, next) => (c.req.header('Authorization') ? next() : c.body(null, 401)))
app.post('/charges', once, async (c) => {
  const id = charges.push(await c.req.json())
  return c.json({ id }, 201)
})

export const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) })
