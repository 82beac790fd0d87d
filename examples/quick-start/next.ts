// app/charges/route.ts
import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/next'

const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
const caller = (request: Request) => hashSecret(request.headers.get('Authorization') ?? '')
const charges: unknown[] = []

const createCharge = idempotent(reprise, { caller }, async (request) => {
  const id = charges.push(await request.json())
  return Response.json({ id }, { status: 201 })
})

// Your own sign-in comes first: a request of nobody has no caller.
export const POST = async (request: Request) =>
  request.headers.has('Authorization') ? createCharge(request) : new Response(null, { status: 401 })
