import Fastify from 'fastify'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotency } from 'reprise/fastify'

const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
const charges: unknown[] = []
const app = Fastify()

await app.register(idempotency, {
  reprise,
  caller: (request) => hashSecret(request.headers.authorization ?? ''),
})
app.post('/charges', async (request, reply) => {
  const id = charges.push(request.body)
  return reply.code(201).send({ id })
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
export const { server } = app
