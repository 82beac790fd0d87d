import Fastify, { type FastifyRequest } from 'fastify'
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotency } from 'reprise/fastify'

export const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
await reprise.ready()
const caller = ({ headers }: FastifyRequest) => hashSecret(headers.authorization ?? '')
const charges: unknown[] = []
const app = Fastify()

app.addHook('onRequest', async ({ headers }, reply) => {
  if (!headers.authorization) return reply.code(401).send() // your own sign-in
})
await app.register(idempotency, { reprise, caller })
app.post('/charges', async (request, reply) => {
  const id = charges.push(request.body)
  return reply.code(201).send({ id })
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
export const { server } = app
