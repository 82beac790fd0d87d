// app/charges/route.ts
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/next'

const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
const caller = (request: Request) => hashSecret(request.headers.get('Authorization') ?? '')
const charges: unknown[] = []

export const POST = idempotent(reprise, { caller }, async (request) => {
  const id = charges.push(await request.json())
  return Response.json({ id }, { status: 201 })
})
