import { bodyParser } from '@koa/bodyparser'
import Koa from 'koa'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/koa'

const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
const caller = (ctx: Koa.Context) => hashSecret(ctx.get('Authorization'))
const charges: unknown[] = []
const app = new Koa()

app.use(bodyParser())
app.use(idempotent(reprise, { caller }))
app.use((ctx) => {
  ctx.status = 201
  ctx.body = { id: charges.push(ctx.request.body) }
})

export const server = app.listen(Number(process.env.PORT ?? 3000))
