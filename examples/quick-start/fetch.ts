import { createReprise, hashSecret, memoryStore } from 'reprise'
import { idempotent } from 'reprise/fetch'

const reprise = createReprise({ store: memoryStore() }) // postgresStore(new Pool({ … }))
const caller = (request: Request) => hashSecret(request.headers.get('Authorization') ?? '')
const charges: unknown[] = []

const createCharge = idempotent(reprise, { caller }, async (request) => {
  const id = charges.push(await request.json())
  return Response.json({ id }, { status: 201 })
})

export default { fetch: createCharge }
