import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/koa'

export const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
await reprise.ready()
const charges: unknown[] = []
const app = new Koa()

// Your own sign-in comes first: a request of nobody has no caller.
app.use((ctx, next) => (ctx.get('Authorization') ? next() : ctx.throw(401)))
app.use(bodyParser())
app.use(idempotent(reprise, { caller: (ctx) => hashSecret(ctx.get('Authorization')) }))
app.use((ctx) => {
  ctx.status = 201
  ctx.body = { id: charges.push(ctx.request.body) }
})

export const server = app.listen(Number(process.env.PORT ?? 3000))
